//! Figures in prose: each measured one has a source that is committed, or a date and a machine.
//!
//! A figure is a number with a decimal unit of time or of memory, with `%`, `×`, `times` or `of the time`. It is supported if its block, which
//! is a paragraph, an item of a list, or a table with the paragraphs around it,
//!
//! * is generated, between `<!-- name:begin -->` and `<!-- name:end -->`;
//! * has comments such as `<!-- figures: benches/results/kernels.txt | burgers 128² | heat -->`, and the figure is a
//!   number of that file, rounded, on a line that has all the words between two bars;
//! * or says on which day and on which machine it was measured: `25 November 2026, EPYC of the Zen 5 generation`.
//!
//! Code is left out, and so are numbers that are written as words.

/// A number as a text shows it, with what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure as it stands in the text.
    pub text: String,
    value: f64,
    decimals: usize,
    unit: &'static str,
}

const TIMES: [&str; 4] = ["ns", "µs", "ms", "seconds"];
const SIZES: [&str; 4] = ["kB", "MB", "GB", "TB"];
const RATIOS: [&str; 4] = ["%", "×", "times", "of the time"];

/// Words that name a machine.
const MACHINES: [&str; 5] = ["EPYC", "Zen ", "Xeon", "H100", "H200"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A number of a text, where it begins and ends there, and how many decimals it shows.
struct Shown {
    start: usize,
    end: usize,
    value: f64,
    decimals: usize,
}

/// Numbers of a text that are not part of a name.
fn numbers(text: &str) -> Vec<Shown> {
    let (bytes, mut found, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let in_word = start > 0 && (bytes[start - 1].is_ascii_alphanumeric() || b"_.#".contains(&bytes[start - 1]));
        while at < bytes.len() && (bytes[at].is_ascii_digit() || is_separator(bytes, at)) {
            at += 1;
        }
        if start == at {
            at += 1;
        } else if !in_word && let Ok(value) = text[start..at].replace(',', "").parse() {
            let decimals = text[start..at].split_once('.').map_or(0, |(_, decimals)| decimals.len());
            found.push(Shown { start, end: at, value, decimals });
        }
    }
    found
}

/// A point or comma between two digits.
fn is_separator(bytes: &[u8], at: usize) -> bool {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    b".,".contains(&bytes[at]) && at > 0 && digit(at - 1) && digit(at + 1)
}

/// The unit at the beginning of `rest`. A `×` with a number behind it multiplies.
fn unit(rest: &str) -> Option<&'static str> {
    let word = rest.strip_prefix(' ').or_else(|| rest.strip_prefix('\u{a0}')).unwrap_or(rest);
    let unit = TIMES.into_iter().chain(SIZES).chain(RATIOS).find(|unit| word.starts_with(unit))?;
    let behind = &word[unit.len()..];
    let multiplies = || behind.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '$');
    (!(behind.starts_with(char::is_alphanumeric) || unit == "×" && multiplies())).then_some(unit)
}

/// The figures of a text without code. The first number of "1.4 to 2 times" is a figure, too.
#[must_use]
pub fn figures(text: &str) -> Vec<Figure> {
    let numbers = numbers(text);
    let with_unit = |k: usize| unit(&text[numbers[k].end..]);
    let found = (0..numbers.len()).filter_map(|k| {
        let Shown { start, end, value, decimals } = numbers[k];
        let next = numbers.get(k + 1).filter(|next| [" to ", " and ", "–"].contains(&&text[end..next.start]));
        let unit = with_unit(k).or_else(|| next.and_then(|_| with_unit(k + 1)))?;
        Some(Figure { text: format!("{} {unit}", &text[start..end]), value, decimals, unit })
    });
    found.collect()
}

impl Figure {
    /// Returns true if this is what a number of a results file becomes when it is rounded, in the unit shown.
    fn is_rounding_of(&self, number: f64) -> bool {
        let scaled: Vec<f64> = match self.unit {
            "%" => vec![number, 100.0 * number, 100.0 * (1.0 - number).abs()],
            "×" | "times" | "of the time" => vec![number, number.recip()],
            _ => (-3..=3).map(|power| number * 1e3_f64.powi(power)).collect(),
        };
        let tolerance = 0.5 * 0.1_f64.powi(self.decimals.try_into().expect("a number has few decimals")) + 1e-9;
        scaled.into_iter().any(|scaled| (scaled - self.value).abs() <= tolerance)
    }
}

/// A part of a file: the number of its first line, its lines, and whether it is a table.
struct Block<'a> {
    line: usize,
    lines: Vec<&'a str>,
}

impl Block<'_> {
    fn is_table(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with('|'))
    }

    /// The text without code, targets of links and comments.
    fn prose(&self) -> String {
        let lines = self.lines.iter().filter(|line| !line.trim_start().starts_with("<!--"));
        let text = lines.copied().collect::<Vec<_>>().join("\n");
        let text: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let mut parts = text.split("](");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + "]" + part.split_once(')').map_or("", |(_, rest)| rest))
    }

    /// The lines of files that the comments of this block name.
    fn sources(&self, read: &dyn Fn(&str) -> String) -> Vec<String> {
        let comments = self.lines.iter().filter_map(|line| line.split_once("<!-- figures:")?.1.split_once("-->"));
        comments.flat_map(|(comment, _)| selected(comment, read)).collect()
    }
}

/// The lines that `file | words | words` selects: those with all words between two bars, or all.
fn selected(comment: &str, read: &dyn Fn(&str) -> String) -> Vec<String> {
    let mut parts = comment.split('|').map(str::trim);
    let text = read(parts.next().unwrap_or_default());
    let choices: Vec<Vec<&str>> = parts.map(|words| words.split(' ').collect()).collect();
    let is_chosen = |line: &str| choices.iter().any(|words| words.iter().all(|word| line.contains(word)));
    text.lines().filter(|line| choices.is_empty() || is_chosen(line)).map(str::to_owned).collect()
}

/// The blocks of a file outside fences and generated parts. Items of lists are blocks of their own.
fn blocks(markdown: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open, mut fence, mut generated) = (Vec::<Block<'_>>::new(), false, false, false);
    for (line, number) in markdown.lines().zip(1..) {
        let text = line.trim_start();
        let is_fence = text.starts_with("```");
        generated |= text.starts_with("<!--") && text.ends_with(":begin -->");
        let left_out = is_fence || fence || generated || text.is_empty();
        fence ^= is_fence;
        generated &= !text.ends_with(":end -->");
        let begins = !open || ["* ", "- ", "#"].iter().any(|start| text.starts_with(start));
        open = !left_out;
        match blocks.last_mut() {
            _ if left_out => {}
            Some(block) if !begins => block.lines.push(line),
            _ => blocks.push(Block { line: number, lines: vec![line] }),
        }
    }
    blocks
}

fn is_dated(text: &str) -> bool {
    let day_month_year = MONTHS.iter().any(|month| {
        let around = text.split(month).collect::<Vec<_>>();
        let is_year = |rest: &str| rest.starts_with(" 20");
        around.windows(2).any(|pair| {
            pair[0].trim_end().ends_with(|c: char| c.is_ascii_digit()) && is_year(&pair[1].replace('\n', " "))
        })
    });
    let iso = || text.as_bytes().windows(8).any(|w| w.starts_with(b"20") && w[4] == b'-' && w[7] == b'-');
    (day_month_year || iso()) && MACHINES.iter().any(|machine| text.replace('\n', " ").contains(machine))
}

/// Lists the measured figures that nothing supports, as `line 12: 3.4 ms: why`. `read` returns the text of a file.
#[must_use]
pub fn unsupported(markdown: &str, read: &dyn Fn(&str) -> String) -> Vec<String> {
    let blocks = blocks(markdown);
    let mut wrong = Vec::new();
    for (k, block) in blocks.iter().enumerate() {
        let around = if block.is_table() { k.saturating_sub(1)..=(k + 1).min(blocks.len() - 1) } else { k..=k };
        let around: Vec<String> = blocks[around].iter().map(|block| block.lines.join("\n")).collect();
        let (figures, sources) = (figures(&block.prose()), block.sources(read));
        if sources.is_empty() && is_dated(&around.join("\n")) {
            continue;
        }
        let known: Vec<f64> = sources.iter().flat_map(|line| numbers(line)).map(|number| number.value).collect();
        for figure in figures.iter().filter(|figure| !known.iter().any(|number| figure.is_rounding_of(*number))) {
            let why =
                if sources.is_empty() { "has neither source nor date and machine" } else { "is not in its source" };
            wrong.push(format!("line {}: {} {why}", block.line, figure.text));
        }
    }
    wrong
}
