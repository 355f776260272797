//! Compiled programs in a folder, for the processes that follow.
#![cfg(any(feature = "cuda", feature = "opencl"))]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]

#[cfg(feature = "cuda")]
use tapewright::kernels::devices::Cuda;
use tapewright::kernels::devices::DeviceSpace;
#[cfg(feature = "opencl")]
use tapewright::kernels::devices::OpenCl;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tapewright::kernels::{parallel_for, parallel_sum};
use tapewright::prelude::*;

/// Interfaces that are tested here, by their name for another process.
fn interfaces() -> Vec<&'static str> {
    let mut all = Vec::new();
    #[cfg(feature = "opencl")]
    all.extend(OpenCl::devices().is_ok().then_some("opencl"));
    #[cfg(feature = "cuda")]
    all.extend(Cuda::devices().is_ok().then_some("cuda"));
    all
}

/// The bits of a gradient.
fn gradient<M: DeviceSpace>() -> Vec<u64> {
    let mut tape = Tape::<Jacobian>::new();
    let (x, z) = tape.record(|scope| {
        let x = scope.view([40], &[0.7; 40]).in_space::<M>();
        let mut y = x.clone();
        parallel_for(y.all(), &mut y, |y| (1.5 * y.at::<0>(),));
        parallel_for(y.interior(1), (&mut y, &x), |(y, x)| (y.at::<0>() * x.at::<-1>() / x.at::<1>(),));
        (x, Real::from(parallel_sum(y.all(), &y, |y| y.at::<0>().square())))
    });
    let adjoints = tape.sweep(&[(&z, 1.0)]).expect("swept");
    adjoints.of_view(&x).expect("x").iter().map(|slope| slope.to_bits()).collect()
}

fn report<M: DeviceSpace>() -> String {
    let kept = env::var_os("KEEP").map_or(Ok(()), M::keep_programs_in);
    if let Err(error) = kept.and_then(|()| M::selected().map(drop)) {
        return format!("{error:?}: {error}");
    }
    let gradient = gradient::<M>();
    let (compiled, loaded) = (M::compiled_programs().expect("a device"), M::loaded_programs().expect("a device"));
    format!("compiled {compiled}, loaded {loaded}, {gradient:?}")
}

#[test]
#[ignore = "run by the other tests, in processes of their own"]
fn a_process() {
    println!(
        "{}",
        match &*env::var("INTERFACE").expect("a name") {
            #[cfg(feature = "opencl")]
            "opencl" => report::<OpenCl>(),
            #[cfg(feature = "cuda")]
            "cuda" => report::<Cuda>(),
            other => panic!("{other} is not compiled"),
        }
    );
}

/// Begins a process; a variable of its environment names the folder.
fn begin(interface: &str, variable: &str, folder: &Path) -> Child {
    let mut child = Command::new(env::current_exe().expect("a program"));
    child.args(["--exact", "a_process", "--ignored", "--nocapture"]);
    child.env("INTERFACE", interface).env(variable, folder).stdout(Stdio::piped());
    child.spawn().expect("a process")
}

/// What a process has found.
struct Found {
    compiled: usize,
    loaded: usize,
    gradient: String,
}

fn end(child: Child) -> String {
    String::from_utf8(child.wait_with_output().expect("an end").stdout).expect("text")
}

fn found(child: Child) -> Found {
    let text = end(child);
    let line = text.lines().find_map(|line| line.strip_prefix("compiled ")).expect(&text);
    let mut parts = line.splitn(3, ", ");
    let mut number = |name: &str| {
        let part = parts.next().expect("a part");
        part.strip_prefix(name).unwrap_or(part).parse().expect("a number")
    };
    let (compiled, loaded) = (number(""), number("loaded "));
    Found { compiled, loaded, gradient: parts.next().expect("a part").to_owned() }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("tapewright-{name}-{}", std::process::id())))
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_next_process_compiles_nothing_unless_a_file_is_damaged() {
    for interface in interfaces() {
        let folder = Folder::new(&format!("kept-{interface}"));
        let first = found(begin(interface, "TAPEWRIGHT_PROGRAMS", &folder.0));
        assert!(first.compiled >= 3 && first.loaded == 0, "{interface}: {}", first.compiled);
        assert_eq!(folder.files().len(), first.compiled, "{interface}");
        let again = |variable: &str, damaged: usize| {
            let next = found(begin(interface, variable, &folder.0));
            assert_eq!((next.compiled, next.loaded), (damaged, first.compiled - damaged), "{interface}");
            assert_eq!(next.gradient, first.gradient, "{interface}");
            assert_eq!(folder.files().len(), first.compiled, "{interface}");
        };
        again("KEEP", 0);
        let files = folder.files();
        let bytes = fs::read(&files[0]).expect("a file");
        fs::write(&files[0], &bytes[..bytes.len() - 1]).expect("written");
        fs::copy(&files[2], &files[1]).expect("copied");
        again("TAPEWRIGHT_PROGRAMS", 2);
        again("TAPEWRIGHT_PROGRAMS", 0);
    }
}

#[test]
fn processes_share_a_folder() {
    for interface in interfaces() {
        let folder = Folder::new(&format!("shared-{interface}"));
        let children: Vec<Child> = (0..3).map(|_| begin(interface, "KEEP", &folder.0)).collect();
        let all: Vec<Found> = children.into_iter().map(found).collect();
        assert!(all.iter().all(|one| one.gradient == all[0].gradient), "{interface}");
        assert!(all.iter().all(|one| one.compiled + one.loaded == folder.files().len()), "{interface}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_with_a_way_out() {
    for interface in interfaces() {
        let file = Folder::new(&format!("file-{interface}"));
        fs::write(&file.0, "no folder").expect("written");
        for variable in ["TAPEWRIGHT_PROGRAMS", "KEEP"] {
            let error = end(begin(interface, variable, &file.0));
            assert!(error.contains("Folder {") && error.contains("name a folder in which"), "{interface}: {error}");
        }
        fs::remove_file(&file.0).expect("removed");
    }
}
