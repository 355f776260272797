//! The book and the README are complete: chapters are listed, links lead somewhere, tables are up to date.

use std::fs;
use std::path::{Path, PathBuf};
use tapewright_book_tests::{
    CHAPTERS, COMPILED_ELSEWHERE, Results, beside_table, choice_table, figures, full_table, guide, launch_table,
    levers_table, links, memory_table, root, spill_table, unsupported, with_part,
};

const RESULTS: &str = "benches/results/compare.csv";
const SPILL: &str = "benches/results/spill.csv";
const SPARSE: &str = "benches/results/sparse.md";
const PROGRAMS: &str = "benches/results/programs.txt";
const DECISIONS: &str = "book/decisions";

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files below a folder, relative to the root of the repository.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    let mut files = Vec::new();
    for entry in entries {
        let path = folder.join(entry.expect("the folder can be read").file_name());
        if root().join(&path).is_dir() {
            files.extend(markdown_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files
}

/// The notes on decisions, which are no part of the book.
fn decisions() -> Vec<PathBuf> {
    let mut files = markdown_files(Path::new(DECISIONS));
    files.retain(|path| !path.ends_with("index.md"));
    assert!(files.len() > 40, "the notes are there");
    files
}

/// The files of the book that are chapters.
fn chapters() -> Vec<PathBuf> {
    let mut files = markdown_files(Path::new("book/src"));
    files.retain(|path| !path.ends_with("SUMMARY.md"));
    assert!(files.len() > 1, "the book has chapters");
    files
}

#[test]
fn every_chapter_is_compiled_and_run() {
    for chapter in chapters() {
        let listed = CHAPTERS.iter().chain(COMPILED_ELSEWHERE).any(|listed| Path::new(listed) == chapter);
        assert!(listed, "{} is missing in tests/book/src/lib.rs", chapter.display());
    }
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = links::relative(&read("book/src/SUMMARY.md"));
    for chapter in chapters() {
        let listed = summary.iter().any(|target| Path::new("book/src").join(target) == chapter);
        assert!(listed, "{} is missing in book/src/SUMMARY.md", chapter.display());
    }
}

/// Chapters that are looked things up in, or are for contributors, may be longer.
const LONG: [&str; 3] = ["conventions.md", "architecture.md", "rows.md"];

#[test]
fn a_chapter_has_at_most_2500_words_of_prose() {
    for chapter in chapters() {
        let words = links::prose(&read(&chapter)).split_whitespace().count();
        let is_long = LONG.iter().any(|long| chapter.ends_with(long));
        assert!(words <= 2500 || is_long, "{} has {words} words outside code", chapter.display());
    }
}

#[test]
fn every_decision_is_in_the_index() {
    let folder = Path::new(DECISIONS);
    let index = links::relative(&read(folder.join("index.md")));
    for note in decisions() {
        assert!(index.iter().any(|target| folder.join(target) == note), "{} is missing", note.display());
    }
}

/// The status is the last cell of a row of the index, and the third line of a note.
#[test]
fn every_decision_says_whether_it_stands_as_the_index_does() {
    let index = read(Path::new(DECISIONS).join("index.md"));
    for note in decisions() {
        let name = note.file_name().and_then(|name| name.to_str()).expect("notes have names");
        let link = format!("]({name})");
        let mut rows = index.lines().map(|line| line.trim_end_matches(" |").split(" | ").collect::<Vec<_>>());
        let row = rows.find(|row| row.get(1).is_some_and(|decision| decision.ends_with(&link)));
        let status = row.and_then(|row| row.get(2).copied()).unwrap_or_else(|| panic!("{name} has no row"));
        let known = ["stands", "superseded by [", "partly superseded by ["];
        assert!(known.iter().any(|start| status.starts_with(start)), "{name} is said to be {status:?}");
        let text = read(&note);
        assert_eq!(text.lines().nth(2), Some(format!("Status: {status}.").as_str()), "{name} and the index differ");
    }
}

/// All files that link to others.
fn linking_files() -> Vec<PathBuf> {
    let mut files = markdown_files(Path::new("book/src"));
    files.extend(markdown_files(Path::new(DECISIONS)));
    files.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benches/results/README.md"].map(PathBuf::from));
    files
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for file in linking_files() {
        for target in links::relative(&read(&file)) {
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let folder = file.parent().expect("a file is in a folder");
            let to = if path.is_empty() { file.clone() } else { folder.join(path) };
            assert!(root().join(&to).exists(), "{} links to {target}, which is not there", file.display());
            let known = heading.is_empty() || links::anchors(&read(&to)).iter().any(|anchor| anchor == heading);
            assert!(known, "{} links to {target}, which is no heading there", file.display());
        }
    }
}

#[test]
fn links_of_the_book_stay_in_the_book() {
    let book = root().join("book/src").canonicalize().expect("the book is there");
    for file in markdown_files(Path::new("book/src")) {
        for target in links::relative(&read(&file)) {
            let path = target
                .split('#')
                .next()
                .filter(|path| !path.is_empty())
                .map(|path| root().join(&file).with_file_name(path).canonicalize().expect("links lead to files"));
            assert!(path.is_none_or(|path| path.starts_with(&book)), "{} links to {target}", file.display());
        }
    }
}

#[test]
fn every_fence_names_its_language() {
    for file in linking_files() {
        let text = read(&file);
        assert!(links::languages(&text).iter().all(|language| !language.is_empty()), "{}", file.display());
    }
}

/// The README and all chapters.
fn prose() -> Vec<PathBuf> {
    chapters().into_iter().chain([PathBuf::from("README.md")]).collect()
}

#[test]
fn every_measured_figure_has_a_source_or_a_date_and_a_machine() {
    let wrong: Vec<String> = prose()
        .iter()
        .flat_map(|file| {
            unsupported(&read(file), &|path| read(path))
                .into_iter()
                .map(move |what| format!("{}: {what}", file.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}\nCONTRIBUTING.md, New measurements, says what to write", wrong.join("\n"));
}

const PLANTED: &str = "\
<!-- figures: results | burgers kernels -->
As kernels burgers2d takes 1.0 ms and 9.0 MB, 0.06 times as long, 94 % less.

Measured on 25 November 2026 on an EPYC of the Zen 5 generation: 17.3 ms.

With 128 × 128 points and 8 bytes for each it has 3 levels; `7 ms` is code.
";

fn planted(text: &str) -> Vec<String> {
    unsupported(text, &|_| "burgers kernels 0.0010 8966.8 0.06\nburgers 17.3\n".to_owned())
}

#[test]
fn planted_wrong_figures_are_found() {
    assert_eq!(planted(PLANTED), Vec::<String>::new());
    let is_found = |from: &str, to: &str| assert!(!planted(&PLANTED.replace(from, to)).is_empty(), "{from} → {to}");
    is_found("1.0 ms", "1.1 ms");
    is_found("1.0 ms", "17.3 ms"); // of another line
    is_found("9.0 MB", "9.1 MB");
    is_found("0.06 times", "0.07 times");
    is_found("94 %", "93 %");
    is_found("25 November 2026", "Measured");
    is_found("EPYC of the Zen 5 generation", "machine");
    is_found("8 bytes for each", "8 MB for each");
    let wrong = planted("One\n\n* takes 3 to 4.5 times as long\n");
    assert_eq!(wrong[1], "line 3: 4.5 times has neither source nor date and machine");
}

#[test]
fn figures_are_numbers_with_units_and_ranges_of_them() {
    let found: Vec<String> = figures("1.4 to 2 times, 1,214 MB, f64 32 × 8, 2 statements, 5 % of v2 ms, 3 µs.")
        .into_iter()
        .map(|figure| figure.text)
        .collect();
    assert_eq!(found, ["1.4 times", "2 times", "1,214 MB", "5 %", "3 µs"]);
}

/// Every chapter for users, the contents, and the README of the package, as the documentation shows them.
#[test]
fn the_guide_of_the_documentation_is_the_book() {
    let names: Vec<(String, PathBuf)> =
        chapters().into_iter().filter_map(|path| Some((guide::module(path.to_str()?)?, path))).collect();
    let rows = read("src/guide/mod.rs");
    for (name, path) in &names {
        let text = guide::chapter(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_generated(&format!("src/guide/{name}.md"), &text);
        assert!(rows.contains(&format!("\n    {name};")), "src/guide/mod.rs has no row `{name};`");
    }
    assert_generated("src/guide/contents.md", &guide::contents(&read("book/src/SUMMARY.md")));
    assert_generated("src/guide/readme.md", &guide::readme(&read("README.md")));
    let files = markdown_files(Path::new("src/guide"));
    assert_eq!(files.len(), names.len() + 2, "src/guide has a file that no chapter makes: {files:?}");
}

/// Fails unless this file is as generated; writes it instead when asked to, also where there is none.
fn assert_generated(file: &str, expected: &str) {
    assert_blessed(file, &fs::read_to_string(root().join(file)).unwrap_or_default(), expected);
}

#[test]
fn links_of_the_guide_lead_to_modules() {
    let text =
        "[`a`\n[0]](b-c.md#d) `[e](f.md)` [g](#h)\n![i](j.svg)\n```text\n[k](l.md)\n```\n[m](rows.md) [n](https://o)\n";
    let expected = "[`a`\n[0]](crate::guide::b_c#d) `[e](f.md)` [g](#h)\n```text\n[k](l.md)\n```\nm [n](https://o)\n";
    assert_eq!(guide::chapter(&text.replace("\n[0]", "")).as_deref(), Ok(expected.replace("\n[0]", "").as_str()));
    assert_eq!(guide::readme("[a](b.md) and [c](#d)"), "a and [c](#d)");
    assert_eq!(guide::contents("# S\n\n[a](b.md)\n\n# For contributors\n\n[c](rows.md)\n"), "- [a](crate::guide::b)\n");
}

#[test]
fn the_tape_in_60_lines_has_at_most_60_lines() {
    let text = read("book/src/tape-in-60-lines.md");
    let snippet = text.split("```").nth(1).expect("the chapter begins with its snippet");
    let lines = snippet.lines().skip(1).count();
    assert!((30..=60).contains(&lines), "{lines} lines");
}

/// Fails unless the part of this name in this file is the generated one; rewrites the file instead when asked to.
fn assert_up_to_date(file: &str, part: &str, generated: &str) {
    let text = read(file);
    let expected = with_part(&text, part, generated).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_blessed(file, &text, &expected);
}

/// Fails unless the file is as expected; rewrites it instead when asked to.
fn assert_blessed(file: &str, found: &str, expected: &str) {
    if found != expected && std::env::var_os("TAPEWRIGHT_BLESS").is_some_and(|value| value == "1") {
        fs::write(root().join(file), expected).expect("the file can be written");
        return;
    }
    assert!(
        found == expected,
        "{file} does not show what benches/results holds; \
         `TAPEWRIGHT_BLESS=1 cargo test -p tapewright-book-tests --test book` rewrites it"
    );
}

fn results() -> Results {
    let path = root().join(RESULTS);
    let csv = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{RESULTS}: {error}; `cargo run --release --example compare -- --csv {RESULTS}` measures and writes it")
    });
    let results = Results::from_csv(&csv).unwrap_or_else(|error| panic!("{RESULTS}: {error}"));
    assert!(!results.rows.is_empty(), "{RESULTS} has no rows");
    results
}

/// One test for one file: parts of a file that were rewritten at the same time would overwrite each other.
#[test]
fn results_in_the_book_are_those_of_the_results_file() {
    assert_up_to_date("book/src/choosing.md", "results", &full_table(&results()));
    assert_up_to_date("book/src/choosing.md", "choice", &choice_table(&results()));
    assert_up_to_date("book/src/choosing.md", "memory", &memory_table(&results()));
    let levers = levers_table(&results(), &read("benches/results/numbers.md"), &read(PROGRAMS));
    assert_up_to_date("book/src/choosing.md", "levers", &levers.unwrap_or_else(|error| panic!("{RESULTS}: {error}")));
}

#[test]
fn the_gain_is_that_of_the_results_files() {
    let files = ["beside-xeon", "beside", "beside-zen3"].map(|name| read(format!("benches/results/{name}.md")));
    let beside = beside_table(files.each_ref().map(|file| &**file));
    let beside = beside.unwrap_or_else(|error| panic!("beside-xeon.md: {error}"));
    let is_slower = |line: &&str| line.split(" | ").any(|cell| cell.starts_with("1.") && cell.len() == 4);
    let slower: Vec<&str> = beside.lines().filter(is_slower).collect();
    let said = beside.lines().count() == 2 + 7 && slower.iter().all(|line| line.starts_with("| expsq |"));
    assert!(said, "README and introduction say that all but expsq of seven workloads are faster: {slower:?}");
    let levers = levers_table(&results(), &read("benches/results/numbers.md"), &read(PROGRAMS));
    let levers = levers.unwrap_or_else(|error| panic!("{RESULTS}, numbers.md: {error}"));
    assert_up_to_date("README.md", "beside", &beside);
    assert_up_to_date("README.md", "levers", &levers);
}

#[test]
fn small_launches_in_the_book_are_those_of_the_results_file() {
    let table = launch_table(&read("benches/results/kernels.txt")).unwrap_or_else(|error| panic!("{error}"));
    assert_up_to_date("book/src/kernels.md", "launches", &table);
}

#[test]
fn a_gain_without_its_rows_is_an_error() {
    let peer = "| burgers2d | Adept 2.1 g++ | 27.50 ms | 1.000 | 198.3 MB | 1.000 | 536.8 µs | 51.2 |\n";
    let own = "| burgers2d | Jacobian | 16.43 ms | 0.597 | 142.5 MB | 0.719 | 409.9 µs | 40.1 |\n";
    let both = format!("{own}{peer}");
    let table = beside_table([&both; 3]).expect("both rows are there");
    let row = "| 16.43 ms | 27.50 ms | Adept 2.1 g++ | 0.60 | 0.60 | 0.60 | 0.72 |\n";
    assert!(table.ends_with(&format!("| burgers2d | a flow in two dimensions, 32 steps {row}")), "{table}");
    assert_eq!(beside_table([&both, &both, peer]), Err("no row of Jacobian for burgers2d".to_owned()));
    let sample = Results::from_csv(SAMPLE).expect("the sample is valid");
    let table = levers_table(&sample, "", "").expect("all rows have a base");
    assert!(table.contains("| another strategy, the smallest | all 2 | 0.74 to 0.91 | 0.95 to "), "{table}");
    let programs = "a note\n\n| Heston, 100 steps | µs |\n|---|--:|\n| program, blocks of 64 | 0.92 | 0.86 |\n";
    let missing = "no time in the row | `Jacobian`, recorded for each path |".to_owned();
    assert_eq!(levers_table(&sample, "", programs), Err(missing));
    let programs = programs.to_owned() + "| `Jacobian`, recorded for each path | 3.15 | 2.94 |\n";
    let table = levers_table(&sample, "", &programs).expect("both rows are there");
    assert!(table.contains("| programs | heston |  | 0.29 |"), "{table}");
}

/// The book shows copies, since links must not leave it.
#[test]
fn charts_in_the_book_are_those_of_the_results() {
    for chart in ["compare.svg", "spill.svg"] {
        let copy = format!("book/src/{chart}");
        let original = fs::read_to_string(root().join("benches/results").join(chart)).unwrap_or_default();
        let found = fs::read_to_string(root().join(&copy)).unwrap_or_default();
        assert_blessed(&copy, &found, &original);
    }
}

/// The part is empty as long as there are no results.
#[test]
fn spilling_in_the_book_is_that_of_the_results_file() {
    let generated = fs::read_to_string(root().join(SPILL)).map_or_else(
        |_| String::new(),
        |csv| spill_table(&csv, "spill.svg").unwrap_or_else(|error| panic!("{SPILL}: {error}")),
    );
    assert_up_to_date("book/src/storage.md", "spill", &generated);
}

/// All from the first table on.
#[test]
fn costs_of_sparse_matrices_in_the_book_are_in_the_results_file() {
    let text = read(SPARSE);
    let start = text.find("Five-point stencil").expect("the file has tables");
    assert_up_to_date("book/src/sparse.md", "sparse", &text[start..]);
}

/// All from the first table on.
#[test]
fn costs_of_programs_in_the_book_are_in_the_results_file() {
    let text = read(PROGRAMS);
    let start = text.find("| libor").expect("the file has tables");
    assert_up_to_date("book/src/programs.md", "programs", &text[start..]);
}

const SAMPLE: &str = "\
# 2026-11-21, some processor
workload,strategy,indices,layer,statements,arguments,tape_bytes,bytes_per_statement,adjoint_bytes,record_ms,reverse_ms,primal_ms,ratio
big,jacobian,linear,in_memory,3064576,14306815,117750000,38.4,24700000,12.34,9.8,1.5,14.76
big,jacobian,reuse,in_memory,3064576,14306815,129000000,42.1,800000,12.34,8.8,1.5,14.09
big,jacobian,reuse,spilled,3064576,14306815,129000000,42.1,800000,112.34,88.8,1.5,134.09
tiny,jacobian,linear,in_memory,1,3,37,37,24,0.00001,0.0000072,0.000006,2.87
tiny,primal_value,linear,in_memory,1,3,21,21,24,0.000011,0.0025,0.000006,418
";

#[test]
fn full_table_shows_every_row_and_the_notes() {
    let results = Results::from_csv(SAMPLE).expect("the sample is valid");
    let expected = "\
| workload | strategy | statements | arguments | tape | bytes a statement | adjoints | record | sweep | ratio |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
| big | `Jacobian` | 3,064,576 | 14,306,815 | 117.8 MB | 38.4 | 24.70 MB | 12.3 ms | 9.8 ms | 14.8 |
| big | `Jacobian` reuse | 3,064,576 | 14,306,815 | 129.0 MB | 42.1 | 0.80 MB | 12.3 ms | 8.8 ms | 14.1 |
| big | `Jacobian` reuse spilled | 3,064,576 | 14,306,815 | 129.0 MB | 42.1 | 0.80 MB | 112.3 ms | 88.8 ms | 134.1 |
| tiny | `Jacobian` | 1 | 3 | 37 B | 37.0 | 24 B | 10.0 ns | 7.2 ns | 2.9 |
| tiny | `PrimalValue` | 1 | 3 | 21 B | 21.0 | 24 B | 11.0 ns | 2.5 µs | 418.0 |

2026-11-21, some processor
";
    assert_eq!(full_table(&results), expected);
}

#[test]
fn further_columns_are_read_and_not_shown() {
    let further = SAMPLE.replace("ratio\n", "ratio,ratio_low\n").replace("76\n", "76,14.5\n");
    let [header, first] = [1, 2].map(|line| further.lines().nth(line).expect("the sample has lines").to_owned());
    let read = |text: &str| Results::from_csv(text).map(|results| full_table(&results));
    let sample: Vec<&str> = SAMPLE.lines().skip(1).take(2).collect();
    assert_eq!(read(&format!("{header}\n{first}\n")), read(&sample.join("\n")));
    let error = read(&format!("{header}\n{}\n", sample[1])).expect_err("a cell is missing");
    assert_eq!(error, "line 2: 13 cells, expected 14");
}

#[test]
fn memory_table_has_a_column_for_each_strategy_with_linear_indices() {
    let results = Results::from_csv(SAMPLE).expect("the sample is valid");
    let expected = "\
|  | `Jacobian` | `PrimalValue` | adjoints | adjoints, reuse |
|---|--:|--:|--:|--:|
| a statement, by formula | 1 + 8d + 4a B | 9 + 4a + 8c + 8p B | 8 B | 8 B a variable alive |
| big | 117.8 MB |  | 24.70 MB | 0.80 MB |
| tiny | 37 B | 21 B | 24 B |  |
";
    assert_eq!(memory_table(&results), expected);
}

#[test]
fn choice_table_marks_the_smallest_and_the_fastest() {
    let results = Results::from_csv(SAMPLE).expect("the sample is valid");
    let expected = "\
| workload | `Jacobian` | `Jacobian` reuse | `PrimalValue` |
|---|--:|--:|--:|
| big | 142.4 MB, 22.1 ms | **129.8 MB**, **21.1 ms** |  |
| tiny | 61 B, **17.2 ns** |  | **45 B**, 2.5 µs |
";
    assert_eq!(choice_table(&results), expected);
}

#[test]
fn spill_table_has_a_line_for_each_budget() {
    let header = "budget_bytes,tape_bytes,seconds,in_memory_seconds,written_bytes,peak_resident_bytes";
    let table = spill_table(&format!("{header}\n16000000,128000000,1.5,0.5,112000000,19000000\n"), "a.svg");
    let expected = "\
![time of one gradient over the memory budget](a.svg)

| memory budget | of the tape | one gradient | × in memory | written | most in memory |
|--:|--:|--:|--:|--:|--:|
| 16.00 MB | 12.5 % | 1500.0 ms | 3.00 | 112.0 MB | 19.00 MB |
";
    assert_eq!(table.as_deref(), Ok(expected));
    let error = |line: &str| spill_table(&format!("{header}\n{line}\n"), "a.svg").expect_err("the line is wrong");
    assert_eq!(error("1,2,3"), "line 2: 3 cells, expected 6");
    assert_eq!(error("1,2,x,4,5,6"), "line 2: \"x\" is no number");
    assert!(spill_table("", "a.svg").is_err());
}

#[test]
fn malformed_results_name_the_line() {
    let header = SAMPLE.lines().nth(1).expect("the header is the second line");
    let error = |line: &str| Results::from_csv(&format!("{header}\n{line}\n")).expect_err("the line is wrong");
    assert_eq!(error("x,y,linear,in_memory,1"), "line 2: 5 cells, expected 13");
    assert_eq!(error("x,y,linear,in_memory,1,2,3,4,5,6,7,8,nine"), "line 2: \"nine\" is no number");
    assert_eq!(error("x"), "line 2: only 1 cells");
    assert!(Results::from_csv("").expect_err("there is no header").contains("header"));
}

#[test]
fn table_replaces_what_is_between_the_markers_only() {
    let text = "a\n<!-- results:begin -->\nold\n<!-- results:end -->\nb";
    let expected = "a\n<!-- results:begin -->\nnew\n<!-- results:end -->\nb";
    assert_eq!(with_part(text, "results", "new\n").as_deref(), Ok(expected));
    assert!(with_part("no markers", "results", "new\n").is_err());
}

#[test]
fn links_in_fences_and_code_spans_and_to_other_sites_are_left_out() {
    let text = "see [a](a.md#x), `[b](b.md)` and [c](https://c.org)\n```text\n[d](d.md)\n```\n[e](#e)";
    assert_eq!(links::relative(text), ["a.md#x", "#e"]);
    assert_eq!(links::anchors("# Two Words, `code`\n## x_y"), ["two-words-code", "x_y"]);
}
