//! Programs that must not compile, with the errors that users see.
