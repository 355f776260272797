//! The table in Markdown, and the file of figures.

use super::Figures;
use super::program::{Program, Side};
use crate::workloads::Expected;
use std::fmt::Write as _;
use std::process::Command;
use std::time::SystemTime;
use tapewright::advisor::units::{bytes, seconds};

/// Figures of one program for a workload, or why it has no figures.
pub(crate) struct Row<'p> {
    pub(crate) program: &'p Program,
    pub(crate) figures: Result<Figures, String>,
}

/// Figures of all programs for one workload.
pub(crate) struct Section<'p> {
    workload: &'static str,
    size: String,
    evaluations: usize,
    rows: Vec<Row<'p>>,
}

/// The first line of the file of figures. Seconds and bytes are for one gradient; `to_peer` and `bytes_to_peer` are
/// multiples of the fastest peer's, `to_primal` of the same program's function over plain numbers.
pub(crate) const COLUMNS: &str =
    "workload,size,gradients,side,program,seconds,to_peer,bytes,bytes_to_peer,primal_seconds,to_primal,failure\n";

/// Programs that were run, when and where, and the first lines of the table.
pub(crate) fn head(rounds: usize, peers: &[Program], notes: &[String]) -> String {
    let mut text = format!(
        "{}, {}, {}; built for {}. Processor time of a thread for one gradient, the least of {rounds} rounds. \
         What is run again shows what differences mean nothing.\n\n",
        date(),
        processor(),
        compiler(),
        features(),
    );
    for Program { name, words, .. } in peers {
        let _ = writeln!(text, "* {name}: `{}`", words.join(" "));
    }
    notes.iter().for_each(|note| _ = writeln!(text, "* {note}"));
    text + "\n| workload | program | record and sweep | × best peer | bytes, adjoints too | × its bytes | own primal \
            | × own primal |\n\
            |---|---|--:|--:|--:|--:|--:|--:|\n"
}

impl<'p> Section<'p> {
    pub(crate) fn new(expected: &Expected, rows: Vec<Row<'p>>) -> Self {
        let Expected { workload, ref size, evaluations, .. } = *expected;
        Self { workload, size: size.clone(), evaluations, rows }
    }

    /// True if all programs found the gradient.
    pub(crate) fn are_right(&self) -> bool {
        self.rows.iter().all(|row| row.figures.is_ok())
    }

    /// The fastest peer.
    fn best(&self) -> Option<&Figures> {
        let peers = self.rows.iter().filter(|row| row.program.side == Side::Peer);
        peers.flat_map(|row| &row.figures).min_by(|a, b| a.seconds().total_cmp(&b.seconds()))
    }

    /// Section of the table.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for Row { program, figures } in &self.rows {
            let _ = write!(text, "| {} | {} | ", self.workload, program.name);
            let _ = match figures {
                Err(why) => writeln!(text, "**{why}** | | | | | |"),
                Ok(figures) => {
                    let (ratio, bytes_ratio) = self.ratios(figures);
                    let (own, multiple) = (figures.primal(), figures.seconds() / figures.primal());
                    let (time, used, own) = (seconds(figures.seconds()), bytes(figures.bytes), seconds(own));
                    writeln!(text, "{time} | {ratio} | {used} | {bytes_ratio} | {own} | {multiple:.1} |")
                }
            };
        }
        text
    }

    /// Section of the file of figures.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::new();
        for Row { program, figures } in &self.rows {
            let side = match program.side {
                Side::Ours => "ours",
                Side::Control => "control",
                Side::Peer => "peer",
            };
            let [name, size] = [&program.name, &self.size].map(|text| text.replace(',', ""));
            let _ = write!(text, "{},{size},{},{side},{name},", self.workload, self.evaluations);
            let _ = match figures {
                Err(why) => writeln!(text, ",,,,,,{}", why.replace(',', ";")),
                Ok(figures) => {
                    let (ratio, bytes_ratio) = self.ratios(figures);
                    let (seconds, used, own) = (figures.seconds(), figures.bytes, figures.primal());
                    writeln!(text, "{seconds:.6e},{ratio},{used},{bytes_ratio},{own:.6e},{:.2},", seconds / own)
                }
            };
        }
        text
    }

    /// Time and bytes as multiples of the fastest peer's.
    fn ratios(&self, figures: &Figures) -> (String, String) {
        let Some(best) = self.best() else { return Default::default() };
        let bytes = figures.bytes as f64 / best.bytes as f64;
        (format!("{:.3}", figures.seconds() / best.seconds()), format!("{bytes:.3}"))
    }
}

/// Year, month and day in UTC, by the Gregorian calendar.
fn date() -> String {
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut day, mut year, mut month) = (seconds / 86400, 1970, 0);
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let days = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while day >= days[month] {
        day -= days[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| format!("unknown {} processor", std::env::consts::ARCH), |(_, name)| name.to_owned())
}

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().ok().filter(|output| output.status.success());
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    version.map_or_else(|| "unknown rustc".to_owned(), |version| version.trim().to_owned())
}

/// The instruction sets that this program was compiled for, of those that decide.
fn features() -> String {
    let sets = [
        ("avx2", cfg!(target_feature = "avx2")),
        ("fma", cfg!(target_feature = "fma")),
        ("avx512f", cfg!(target_feature = "avx512f")),
        ("neon", cfg!(target_feature = "neon")),
    ];
    let there: Vec<&str> = sets.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    if there.is_empty() {
        "any processor of its kind, not for this one (RUSTFLAGS=-Ctarget-cpu=native)".to_owned()
    } else {
        there.join(", ")
    }
}
