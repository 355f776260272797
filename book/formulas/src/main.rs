//! The program that mdBook runs; see the library.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    // mdBook asks `supports <renderer>` first: any that can show HTML.
    if std::env::args().nth(1).is_some_and(|word| word == "supports") {
        return ExitCode::SUCCESS;
    }
    let mut sent = String::new();
    let read = std::io::stdin().read_to_string(&mut sent).map_err(|error| error.to_string());
    match read.and_then(|_| tapewright_book_formulas::process(&sent)) {
        Ok(book) => {
            println!("{book}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("formulas: {message}");
            ExitCode::FAILURE
        }
    }
}
