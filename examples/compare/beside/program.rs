//! Programs that run in processes of their own.

use super::Figures;
use crate::strategies::Strategy;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Whose program it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    /// Ours once more.
    Control,
    Peer,
}

/// A program that prints figures of a workload.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) side: Side,
    /// The words of its command.
    pub(crate) words: Vec<String>,
    /// Workloads by the name here and the name there, where the two differ.
    names: Vec<(String, String)>,
}

/// The word that stands for the workload's name.
const WORKLOAD: &str = "{workload}";

/// With these, the allocator of glibc keeps what is freed. Work arrays would cost page faults in each evaluation
/// otherwise, or not, by what was freed before.
const KEEP: [(&str, &str); 2] = [("MALLOC_TRIM_THRESHOLD_", "2000000000"), ("MALLOC_MMAP_THRESHOLD_", "33554432")];

impl Program {
    /// This program with the same arguments, so that it makes the same workloads, and with one strategy.
    pub(crate) fn ours(strategy: Strategy, side: Side) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let path = path.into_os_string().into_string().map_err(|_| "the path of this program is not text")?;
        let arguments = std::env::args().skip(1);
        let figures = ["--figures".to_owned(), format!("{WORKLOAD}:{}", strategy.name())];
        let words = std::iter::once(path).chain(arguments).chain(figures).collect();
        let again = if side == Side::Control { ", again" } else { "" };
        Ok(Self { name: strategy.title() + again, side, words, names: Vec::new() })
    }

    /// Another program.
    pub(crate) fn peer(name: String, command: &str, names: &[(String, String)]) -> Self {
        let words = command.split_whitespace().map(str::to_owned).collect();
        Self { name, side: Side::Peer, words, names: names.to_vec() }
    }

    /// Runs it on a workload.
    pub(crate) fn run(&self, workload: &str, limit: Duration) -> Result<Figures, String> {
        let renamed = self.names.iter().find(|(ours, _)| ours == workload);
        let workload = renamed.map_or(workload, |(_, theirs)| theirs);
        let mut words = self.words.iter().map(|word| word.replace(WORKLOAD, workload));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).envs(KEEP).stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot run: {error}"))?;
        let text = output(child, limit)?;
        let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        serde_json::from_str(line).map_err(|error| format!("printed no figures: {error}"))
    }
}

/// Output of a process until it ends.
fn output(mut child: Child, limit: Duration) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot be waited for: {error}");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if start.elapsed() > limit {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err(format!("took more than {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut text = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut text).map_err(failed)?;
    }
    if status.success() { Ok(text) } else { Err(format!("failed, {status}")) }
}
