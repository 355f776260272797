//! The file with arrays: what is in it, and when it is gone.

use super::{BYTES, N, OnDisk, expected, marched, options, slopes};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use tapewright::Error;
use tapewright::prelude::*;
use tapewright::storage::StorageError;
use tapewright::tape::AdjointVector;
use tapewright_test_support::files::{Directory, open_files};

/// The one file that is open, was made there and is not empty.
fn file(directory: &Directory) -> File {
    let full = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let path = open_files(std::process::id(), &directory.0).into_iter().find(full).expect("arrays are on disk");
    File::options().read(true).write(true).open(path).expect("the same file")
}

#[test]
fn an_array_that_changed_on_disk_is_an_error_and_nothing_else() {
    let directory = Directory::new("changed");
    let mut tape = Tape::<OnDisk>::spilled(options().directory(&directory.0)).expect("it is there");
    let all = marched(&mut tape, 1);
    let (file, arrays) = (file(&directory), tape.spill_usage().arrays_on_disk as usize / BYTES);
    for array in [0, 1, arrays / 2, arrays - 1] {
        let place = (array * BYTES) as u64;
        let mut bytes = vec![0; BYTES];
        file.read_exact_at(&mut bytes, place).expect("an array");
        let mut changed = bytes.clone();
        changed[1003] ^= 0x08;
        file.write_all_at(&changed, place).expect("the array again");
        let mut vector = AdjointVector::new();
        let forward = tape.jvp(&[(&all.1, 1.0)], &[&all.2]).map(|_| ());
        for found in [
            tape.sweep(&[(&all.2, 1.0)]).map(|_| ()),
            tape.sweep_with(&mut vector, &[(&all.2, 1.0)]).map(|_| ()),
            forward,
        ] {
            let error = found.expect_err("a bit has changed");
            let Error::Storage(StorageError::Corrupt { path, what, offset, bytes, .. }) = &error else {
                panic!("{error:?}")
            };
            assert_eq!((path, *offset, *bytes), (&directory.0, place, BYTES as u64));
            assert_eq!(what, "an array that a launch of a kernel keeps");
        }
        file.write_all_at(&bytes, place).expect("as it was");
        assert_eq!(slopes(&mut tape, &all), expected::<Jacobian>(1), "once the bytes are back");
        let found = tape.sweep_with(&mut vector, &[(&all.2, 1.5)]).expect("swept").of_view(&all.0).map(|x| x.len());
        assert_eq!(found, Ok(N));
    }
    file.set_len((BYTES + 100) as u64).expect("cut off");
    let error = tape.sweep(&[(&all.2, 1.0)]).map(|_| ()).expect_err("most is gone");
    assert!(matches!(error, Error::Storage(StorageError::ShortRead { .. })), "{error:?}");
    let all = marched(&mut tape, 2);
    assert_eq!(slopes(&mut tape, &all), expected::<Jacobian>(2), "recorded again");
}

#[test]
fn the_file_has_no_name_and_is_gone_with_the_tape() {
    let directory = Directory::new("gone");
    let mut tape = Tape::<OnDisk>::spilled(options().directory(&directory.0)).expect("it is there");
    let all = marched(&mut tape, 1);
    assert_eq!(
        open_files(std::process::id(), &directory.0)
            .iter()
            .filter(|path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0))
            .count(),
        1
    );
    assert_eq!(std::fs::read_dir(&directory.0).expect("a directory").count(), 0);
    drop(tape);
    assert_eq!(all.0.len(), N);
    assert!(open_files(std::process::id(), &directory.0).is_empty(), "views keep no file");
}

#[test]
fn a_directory_that_is_gone_before_the_first_array_is_an_error_that_names_it() {
    let directory = Directory::new("removed");
    let mut tape = Tape::<OnDisk>::spilled(options().directory(&directory.0)).expect("it is there");
    std::fs::remove_dir(&directory.0).expect("an empty directory");
    let error = tape.try_record(|scope| {
        let x = scope.view([N], &super::numbers(N, 1));
        super::march(&x, &scope.input(0.5), super::STEPS)
    });
    let error = error.map(|_| ()).expect_err("there is no such directory any more");
    std::fs::create_dir(&directory.0).expect("as before");
    assert!(error.to_string().contains(&directory.0.display().to_string()), "{error}");
    let all = marched(&mut tape, 1);
    assert_eq!(slopes(&mut tape, &all), expected::<Jacobian>(1), "there is one again");
}
