//! Problems that cannot be made: what the error says, and where.

use tapewright_problems::{Burgers, Error, ExpSq, Gmm, Laplacian, Libor, Lstm, RepeatedSin};

/// d = 2, k = 1, n = 1.
const GMM: &str = "2 1 1\n0.5\n1 2\n0.1 0.2 0.3\n7 8\n1 0\n";
/// One layer, two rows, width 1.
const LSTM: &str = "1 2 1\n1 2 3 4 5 6 7 8\n1 1 1\n0 0\n\n1\n0\n";

fn gmm_error(text: &str) -> String {
    Gmm::from_text(text).expect_err("the text is wrong").to_string()
}

fn lstm_error(text: &str) -> String {
    Lstm::from_text(text).expect_err("the text is wrong").to_string()
}

#[test]
fn sound_texts_are_read() {
    assert!(Gmm::from_text(GMM).is_ok());
    assert!(Lstm::from_text(LSTM).is_ok());
}

#[test]
fn white_space_is_free_and_comments_are_skipped() {
    assert!(Gmm::from_text(&GMM.replace('\n', " \r\n\n\t")).is_ok());
    assert!(Lstm::from_text(&format!("# a comment\n{LSTM}# another 1 2 3")).is_ok());
}

#[test]
fn malformed_numbers_are_named_with_their_line() {
    assert_eq!(
        gmm_error(&GMM.replace("0.2", "0,2")),
        "line 4: expected an entry of a covariance factor, found \"0,2\""
    );
    assert_eq!(gmm_error(&GMM.replace('7', "nan")), "line 5: expected a coordinate of a point, found \"nan\"");
    assert_eq!(gmm_error(&GMM.replace('7', "1e999")), "line 5: expected a coordinate of a point, found \"1e999\"");
    assert_eq!(lstm_error(&LSTM.replace("\n\n1", "\n\nx")), "line 6: expected an entry of the sequence, found \"x\"");
    assert_eq!(lstm_error(&LSTM.replace("7 8", "7 --8")), "line 2: expected a main parameter, found \"--8\"");
}

#[test]
fn missing_numbers_are_counted() {
    assert_eq!(gmm_error("2 1 1\n0.5\n1\n"), "the text ends at line 3: expected a coordinate of a mean, number 2 of 2");
    assert_eq!(
        gmm_error(&GMM.replace("1 0\n", "1\n")),
        "the text ends at line 6: expected the prior's m (a whole number), number 1 of 1"
    );
    assert_eq!(
        gmm_error(""),
        "the text ends at line 0: expected the dimension d (a whole number from 1), number 1 of 1"
    );
    assert_eq!(lstm_error("1 2 1\n1 2 3"), "the text ends at line 2: expected a main parameter, number 4 of 8");
}

#[test]
fn trailing_numbers_are_refused() {
    assert_eq!(gmm_error(&format!("{GMM}9\n")), "line 7: nothing more belongs here, found \"9\"");
    assert_eq!(lstm_error(&format!("{LSTM}\n9 9")), "line 9: nothing more belongs here, found \"9\"");
}

#[test]
fn impossible_sizes_in_a_header_are_refused() {
    assert_eq!(gmm_error("0 1 1"), "line 1: expected the dimension d (a whole number from 1), found \"0\"");
    assert_eq!(
        gmm_error("2\n-1 1"),
        "line 2: expected the number of components k (a whole number from 1), found \"-1\""
    );
    assert_eq!(gmm_error("2 1 1.5"), "line 1: expected the number of points n (a whole number from 1), found \"1.5\"");
    assert_eq!(lstm_error("1 1 1"), "line 1: expected the number of rows c (a whole number from 2), found \"1\"");
    assert_eq!(lstm_error("1 2 0"), "line 1: expected the width b (a whole number from 1), found \"0\"");
}

#[test]
fn absurd_sizes_in_a_header_end_as_missing_numbers() {
    let most = usize::MAX;
    assert!(
        matches!(Gmm::from_text(&format!("{most} 2 {most}\n1 2 3")), Err(Error::Missing { needed, .. }) if needed == most)
    );
    assert!(matches!(Lstm::from_text(&format!("{most} {most} {most}\n1")), Err(Error::Missing { found: 1, .. })));
}

#[test]
fn impossible_priors_are_refused() {
    let line = "line 6: expected the prior's ";
    assert_eq!(gmm_error(&GMM.replace("\n1 0", "\n0 0")), format!("{line}γ (a number above 0), found \"0\""));
    assert_eq!(gmm_error(&GMM.replace("\n1 0", "\n1 -1")), format!("{line}m (a whole number), found \"-1\""));
}

#[test]
fn unreadable_files_are_named() {
    let path = std::env::temp_dir().join("no such directory").join("no such file");
    let error = Gmm::from_file(&path).expect_err("there is no such file").to_string();
    assert!(error.starts_with("cannot read ") && error.contains("no such file"), "{error}");
    assert!(matches!(Lstm::from_file(&path), Err(Error::Unreadable { .. })));
}

#[test]
fn files_are_read() {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("tapewright-reader-{}", std::process::id()));
    std::fs::write(&path, LSTM).expect("the temporary directory can be written to");
    let problem = Lstm::from_file(&path);
    std::fs::remove_file(&path).expect("the file was just written");
    assert!(problem.is_ok(), "{problem:?}");
}

#[test]
fn impossible_sizes_are_refused() {
    let reasons = [
        Burgers::new(2, 1)
            .err()
            .map(|e| (e, "burgers2d: the number of grid points along a side must be at least 3, not 2")),
        Burgers::new(3, 0).err().map(|e| (e, "burgers2d: the number of steps must be at least 1, not 0")),
        Laplacian::new(0).err().map(|e| (e, "laplacian1d: the number of unknowns must be at least 1, not 0")),
        RepeatedSin::new(0).err().map(|e| (e, "repeated_sin: the number of sines must be at least 1, not 0")),
        Libor::new(9, 6, 1)
            .err()
            .map(|e| (e, "libor: the number of rates, with these maturities, must be at least 10, not 9")),
        Libor::new(10, 6, 0).err().map(|e| (e, "libor: the number of paths must be at least 1, not 0")),
        Gmm::synthetic(1, 0, 1).err().map(|e| (e, "gmm: the number of components k must be at least 1, not 0")),
        Lstm::synthetic(1, 1, 1).err().map(|e| (e, "lstm: the number of rows must be at least 2, not 1")),
        ExpSq::new(0).err().map(|e| (e, "expsq: the number of gradients must be at least 1, not 0")),
    ];
    for reason in reasons {
        let (error, text) = reason.expect("the size is impossible");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn sizes_beyond_all_tapes_are_refused() {
    let most = usize::MAX;
    let too_large = [
        Burgers::new(most, 1).err(),
        Laplacian::new(1 << 31).err(),
        Libor::new(most, 1, 1).err(),
        Libor::new(44, 40, most).err(),
        Gmm::synthetic(most, 1, 1).err(),
        Gmm::synthetic(1, 1, 1 << 32).err(),
        Lstm::synthetic(most, 1, 2).err(),
    ];
    for error in too_large {
        let error = error.expect("the size is too large").to_string();
        assert!(error.contains("too many"), "{error}");
    }
}
