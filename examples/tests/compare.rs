//! Promises of `compare` to whoever runs it: lines that fit a terminal, errors before anything is measured.
//!
//! The program is the one that `cargo test` has built beside this test.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The program, built if it is not there.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("tests are in target/<profile>/deps");
    let path = profile.join("examples").join(format!("compare{}", std::env::consts::EXE_SUFFIX));
    if !path.exists() {
        let arguments = ["build", "-p", "tapewright-examples", "--example", "compare"];
        let status = Command::new(env!("CARGO")).args(arguments).status().expect("cargo runs");
        assert!(status.success() && path.exists(), "{} is not there", path.display());
    }
    path
}

fn compare(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// Fails unless the program ends with this message, before it has measured anything.
fn assert_refused(arguments: &[&str], message: &str) {
    let output = compare(arguments);
    let (found, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert_eq!(found, "", "{arguments:?} printed figures");
    assert!(errors.starts_with("error: ") && errors.contains(message), "{arguments:?}: {errors}");
    assert!(!errors.contains("about") && !errors.contains("panicked"), "{arguments:?}: {errors}");
}

const QUICK: [&str; 7] = ["-w", "libor,expsq", "--size", "libor=8x4x2", "--size=expsq=10", "-r", "1"];

/// The lines of a table that begins with this word, up to the next empty line.
fn lines<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    text.lines().skip_while(|line| !line.starts_with(start)).take_while(|line| !line.is_empty()).collect()
}

/// Fails unless the text is a digest of these workloads that fits a terminal, each with its strategies and advice.
fn assert_digest(found: &str, workloads: &[(&str, &[&str])]) {
    let columns = found.lines().map(|line| line.chars().count()).max();
    assert!(found.lines().count() <= 40 && columns.is_some_and(|columns| columns <= 110), "{columns:?}:\n{found}");
    for (workload, forms) in workloads {
        let section = lines(found, &format!("{workload}: "));
        assert!(section[0].contains(" takes ") && section.len() == 3 + forms.len(), "{workload}: {section:?}");
        for (line, form) in section[1..].iter().zip([&[""], *forms].concat()) {
            assert!(line.contains(form), "{line}");
            assert_row(line, "function", form != "Program");
        }
        let advice = section.last().copied().unwrap_or_default();
        assert!(advice.starts_with("  Take ") && advice.trim_end_matches(" (noisy)").ends_with('.'), "{advice}");
    }
}

/// Fails unless the row ends with bytes, if it has a tape, with a time, and with the multiple of a function.
fn assert_row(line: &str, function: &str, has_tape: bool) {
    let words: Vec<&str> = line.split_whitespace().rev().collect();
    let [last, times, multiple, second, time, byte, ref rest @ ..] = words[..] else { panic!("{line}") };
    let memory = rest.first().copied().unwrap_or_default();
    assert_eq!((last, times), (function, "×"), "{line}");
    assert!([multiple, time].iter().all(|number| number.parse::<f64>().is_ok()), "{line}");
    assert!(second.ends_with('s'), "{line}");
    assert!(!has_tape || byte.ends_with('B') && memory.parse::<f64>().is_ok(), "{line}");
}

#[test]
fn by_default_it_prints_a_few_lines_a_workload() {
    let workloads: [(&str, &[&str]); 7] = [
        ("burgers2d", &["Jacobian checkpointed", "Jacobian blocks", "Jacobian kernels"]),
        ("gmm", &[]),
        ("laplacian1d", &["Jacobian kernels"]),
        ("repeated_sin", &["Jacobian checkpointed"]),
        ("libor", &["Jacobian packs", "Program"]),
        ("lstm", &[]),
        ("expsq", &[]),
    ];
    let output = compare(&["--small", "-r", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    assert_digest(&found, &workloads);
    let bundle = lines(&found, "bundle: ");
    assert!(bundle.len() == 2 && bundle[1].starts_with("  Residual blocks "), "{bundle:?}");
    assert_row(bundle[1], "residuals", true);
    assert!(found.lines().last().is_some_and(|line| line.contains("Device: ")), "{found}");
}

#[test]
fn all_has_a_table_of_all_strategies_for_each_workload_and_then_the_same() {
    let output = compare(&[&QUICK[..], &["--all"]].concat());
    let found = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(found.lines().all(|line| line.chars().count() <= 110), "{found}");
    for (workload, strategies) in [("libor: ", 12), ("expsq: ", 10)] {
        let table = lines(&found, workload);
        assert_eq!(table.len(), 2 + strategies, "{found}");
        let titles: Vec<&str> = table[1].split("  ").map(str::trim).filter(|title| !title.is_empty()).collect();
        assert_eq!(titles, ["strategy", "memory", "record", "sweep", "× function"]);
        let marks = |line: &&&str| line.contains('*');
        assert!((1..=strategies).contains(&table.iter().filter(marks).count()), "{found}");
    }
    let digest = found.rfind("libor: ").map(|at| &found[at..]).unwrap_or_default();
    assert_digest(digest, &[("libor", &["Jacobian packs", "Program"]), ("expsq", &[])]);
    assert!(!found.contains("quartiles"), "that is a detail:\n{found}");
}

#[test]
fn it_says_at_the_start_how_long_it_will_take() {
    let errors = text(&compare(&["-w", "expsq", "--size=expsq=10", "-r", "1", "-s", "jacobian"]).stderr);
    assert!(errors.starts_with("1 workload under up to 1 strategies: about "), "{errors}");
}

#[test]
fn details_have_the_records_the_ratios_and_the_noise_and_fit_too() {
    let output = compare(&[&QUICK[..], &["--details"]].concat());
    let found = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for words in ["partials ", "quartiles", "Noise: ", "central differences agree", "under Passive", "  Take "] {
        assert!(found.contains(words), "'{words}' is missing in\n{found}");
    }
    let longest = found.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|columns| columns <= 120), "{longest:?} columns:\n{found}");
}

#[test]
fn one_strategy_has_nothing_to_win_against() {
    let found = text(&compare(&["-w", "expsq", "--size=expsq=10", "-r", "1", "-s", "hybrid"]).stdout);
    assert!(found.contains("Hybrid") && !found.contains("Take "), "{found}");
}

#[test]
fn files_and_directories_are_tried_before_anything_is_measured() {
    assert_refused(&["--svg", "/nowhere/to/be/found.svg"], "--svg /nowhere/to/be/found.svg: ");
    assert_refused(&["--csv", "/nowhere/to/be/found.csv"], "--csv /nowhere/to/be/found.csv: ");
    assert_refused(&["--all", "--directory", "/nowhere/to/be"], "--directory /nowhere/to/be: ");
    assert_refused(&["--data", "/nowhere/to/be/found.txt"], "/nowhere/to/be/found.txt");
}

#[test]
fn repetitions_are_bounded() {
    assert_refused(&["-r", "99999999999"], "--repetitions");
    assert_refused(&["-r", "0"], "--repetitions");
    assert_refused(&["-r", "1001"], "--repetitions");
}

#[test]
fn figures_that_were_written_can_be_drawn_again() {
    let folder = std::env::temp_dir().join(format!("tapewright-compare-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let path = |name: &str| folder.join(name).into_os_string().into_string().expect("the path is text");
    let (csv, first, again) = (path("a.csv"), path("a.svg"), path("b.svg"));
    let output = compare(&[&QUICK[..], &["--csv", &csv, "--svg", &first]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(compare(&["--redraw", &csv, "--svg", &again]).status.success());
    let [first, again] = [first, again].map(|path| std::fs::read_to_string(path).expect("a chart was written"));
    // Solid bars for linear indices and pale ones with stripes for reused ones, in the same color.
    assert!(first.contains("#0072B2") && first.contains("opacity=\"0.25\""));
    assert_eq!(first.matches("<rect").count() / 10, again.matches("<rect").count() / 10, "bars are missing");
    assert_refused(&["--redraw", "/nowhere.csv", "--svg", &path("c.svg")], "--redraw /nowhere.csv: ");
    std::fs::write(&csv, "workload,strategy\n").expect("it can be written");
    assert_refused(&["--redraw", &csv, "--svg", &path("c.svg")], "no column indices");
    std::fs::remove_dir_all(folder).expect("the folder can be removed");
}
