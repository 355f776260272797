//! Compiles and runs the snippets of the book.
