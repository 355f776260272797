//! Numbers separated by white space, with the line that each stands on.

use crate::Error;
use core::str::FromStr;
use std::path::Path;

/// Reads a text number by number. `#` starts a comment that ends with its line.
pub(crate) struct Numbers<'a> {
    words: Box<dyn Iterator<Item = (usize, &'a str)> + 'a>,
    lines: usize,
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let code = |line: &'a str| line.split('#').next().unwrap_or_default();
        let words =
            text.lines().enumerate().flat_map(move |(i, line)| code(line).split_whitespace().map(move |w| (i + 1, w)));
        Self { words: Box::new(words), lines: text.lines().count() }
    }

    /// The next word as a `T` that `is_valid`.
    pub(crate) fn parse<T: FromStr>(
        &mut self,
        wanted: &'static str,
        is_valid: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        let missing = Error::Missing { line: self.lines, wanted, found: 0, needed: 1 };
        let (line, word) = self.words.next().ok_or(missing)?;
        word.parse().ok().filter(is_valid).ok_or_else(|| Error::Malformed { line, found: word.to_owned(), wanted })
    }

    /// The next `needed` words as finite numbers.
    pub(crate) fn numbers(&mut self, needed: usize, wanted: &'static str) -> Result<Vec<f64>, Error> {
        let mut numbers = Vec::new(); // no capacity: what a header says may be absurd
        while numbers.len() < needed {
            match self.parse(wanted, |x: &f64| x.is_finite()) {
                Err(Error::Missing { line, .. }) => {
                    return Err(Error::Missing { line, wanted, found: numbers.len(), needed });
                }
                number => numbers.push(number?),
            }
        }
        Ok(numbers)
    }

    /// An error unless all words have been read.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let next = self.words.next();
        next.map_or(Ok(()), |(line, word)| Err(Error::Trailing { line, found: word.to_owned() }))
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.display().to_string(), reason: error.to_string() })
}
