//! Files of words and numbers, whose errors name the line.

use core::fmt;
use core::iter::Peekable;

/// A word that cannot be read: its line, counted from 1, what was found there, and what was expected.
#[derive(Debug, PartialEq, Eq)]
pub struct TextError {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Contents of the file there.
    pub found: Found,
    /// Description of what can be read.
    pub expected: String,
}

/// What is at a position of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A word, or several.
    Words(String),
    /// The end of the line.
    EndOfLine,
    /// The end of the file.
    EndOfFile,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, found, expected } = self;
        match found {
            Found::Words(found) => write!(f, "line {line}: found {found:?}, expected {expected}"),
            Found::EndOfLine => write!(f, "line {line}: found the end of the line, expected {expected}"),
            Found::EndOfFile => write!(f, "the file ends in line {line}, expected {expected}"),
        }
    }
}

impl std::error::Error for TextError {}

/// The words of a file, or of one line, with their lines.
pub struct Words<'t> {
    rest: Peekable<Box<dyn Iterator<Item = (usize, &'t str)> + 't>>,
    line: usize,
    /// What follows the last word.
    end: fn() -> Found,
}

impl<'t> Words<'t> {
    /// The words of a file.
    #[must_use]
    pub fn of_file(text: &'t str) -> Self {
        let of_line = |(k, line): (usize, &'t str)| line.split_whitespace().map(move |word| (k + 1, word));
        Self::new(Box::new(text.lines().enumerate().flat_map(of_line)), 1, || Found::EndOfFile)
    }

    /// The words of a line with this number.
    #[must_use]
    pub fn of_line(line: usize, text: &'t str) -> Self {
        let words = text.split_whitespace().map(move |word| (line, word));
        Self::new(Box::new(words), line, || Found::EndOfLine)
    }

    fn new(words: Box<dyn Iterator<Item = (usize, &'t str)> + 't>, line: usize, end: fn() -> Found) -> Self {
        Self { rest: words.peekable(), line, end }
    }

    /// Returns true if no word is left.
    pub fn is_empty(&mut self) -> bool {
        self.rest.peek().is_none()
    }

    /// The next word, if `read` can read it.
    ///
    /// # Errors
    ///
    /// [`TextError`] when it cannot, or when there is no word left.
    pub fn next<T>(&mut self, expected: impl Fn() -> String, read: impl Fn(&str) -> Option<T>) -> Result<T, TextError> {
        let Some((line, word)) = self.rest.next() else {
            return Err(TextError { line: self.line, found: (self.end)(), expected: expected() });
        };
        self.line = line;
        read(word).ok_or_else(|| TextError { line, found: Found::Words(word.to_owned()), expected: expected() })
    }

    /// The next word as a number of something.
    ///
    /// # Errors
    ///
    /// [`TextError`] when it is not one.
    pub fn count(&mut self, of: &str) -> Result<usize, TextError> {
        self.next(|| format!("the number of {of}"), |word| word.parse().ok())
    }

    /// The next word as one of `count` indices.
    ///
    /// # Errors
    ///
    /// [`TextError`] when it is not one, or too large.
    pub fn index(&mut self, of: &str, count: usize) -> Result<usize, TextError> {
        let read = |word: &str| word.parse().ok().filter(|index| *index < count);
        self.next(|| format!("the index of a {of}, counted from 0, of {count}"), read)
    }

    /// The next word as a finite number.
    ///
    /// # Errors
    ///
    /// [`TextError`] when it is not one.
    pub fn number(&mut self, expected: impl Fn() -> String) -> Result<f64, TextError> {
        self.next(expected, |word| word.parse().ok().filter(|number: &f64| number.is_finite()))
    }

    /// Checks that no word is left.
    ///
    /// # Errors
    ///
    /// [`TextError`] when there is one.
    pub fn end(mut self) -> Result<(), TextError> {
        let expected = match (self.end)() {
            Found::EndOfLine => "the end of the line",
            _ => "the end of the file",
        };
        match self.rest.next() {
            Some((line, word)) => {
                Err(TextError { line, found: Found::Words(word.to_owned()), expected: expected.to_owned() })
            }
            None => Ok(()),
        }
    }
}
