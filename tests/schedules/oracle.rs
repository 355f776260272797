//! What plans cost at least, by dynamic programming and by exhaustive search. No closed form is used here.

use std::collections::VecDeque;

/// Larger than any cost, and small enough to be added to.
const IMPOSSIBLE: usize = usize::MAX / 4;

/// `table[s][n]`
pub(crate) type Table = Vec<Vec<usize>>;

fn table(slots: usize, steps: usize, mut cell: impl FnMut(&Table, usize, usize) -> usize) -> Table {
    let mut table = vec![vec![IMPOSSIBLE; steps + 1]; slots + 1];
    for s in 0..=slots {
        for n in 0..=steps {
            table[s][n] = cell(&table, s, n);
        }
    }
    table
}

/// Steps advanced over to reverse n steps from their first state with s snapshots, that of the first state among them.
pub(crate) fn advances(slots: usize, steps: usize) -> Table {
    table(slots, steps, |t, s, n| match (s, n) {
        (_, 0 | 1) => 0,
        (0, _) => IMPOSSIBLE,
        _ => (1..n).map(|m| m + t[s][m] + t[s - 1][n - m]).min().expect("two steps at least"),
    })
}

/// The fewest stores among the plans with the fewest advances, that of the first state not counted.
pub(crate) fn stores(advances: &Table) -> Table {
    table(advances.len() - 1, advances[0].len() - 1, |q, s, n| match (s, n) {
        (_, 0 | 1) => 0,
        (0, _) => IMPOSSIBLE,
        _ => (1..n)
            .filter(|m| m + advances[s][*m] + advances[s - 1][n - m] == advances[s][n])
            .map(|m| q[s][m] + if n - m == 1 { 0 } else { 1 + q[s - 1][n - m] })
            .min()
            .expect("some plan is optimal"),
    })
}

/// Steps advanced over after a forward run that has left s snapshots at the best places.
pub(crate) fn hindsight(advances: &Table) -> Table {
    table(advances.len() - 1, advances[0].len() - 1, |u, s, n| match s {
        0 => advances[0][n],
        _ => (1..n).map(|m| advances[s][m] + u[s - 1][n - m]).fold(advances[s][n], usize::min),
    })
}

/// Evaluations of steps to reverse n steps when s slots hold snapshots or recordings.
pub(crate) fn mixed(slots: usize, steps: usize) -> Table {
    table(slots, steps, |m, s, n| match (s, n) {
        (_, 0 | 1) => n,
        (0, _) => IMPOSSIBLE,
        _ => (1..n).map(|i| i + m[s][i] + m[s - 1][n - i]).fold(1 + m[s - 1][n - 1], usize::min),
    })
}

/// Everything that can be held: the present state, sets of snapshots and recordings, and the steps that are left to be
/// swept.
#[derive(Clone, Copy)]
struct Situation {
    at: usize,
    snapshots: usize,
    tapes: usize,
    left: usize,
}

/// The fewest evaluations of steps by any sequence of stores, restores, discards, advances, recordings and sweeps
/// whatever. One recording, of the step to be swept next, is outside the slots. Recordings are kept in slots if
/// `keep_tapes`.
pub(crate) fn exhaustive(steps: usize, slots: u32, keep_tapes: bool) -> usize {
    let sets = 1 << steps;
    let index = |s: Situation| ((s.at * sets + s.snapshots) * sets + s.tapes) * (steps + 1) + s.left;
    let mut cost = vec![usize::MAX; (steps + 1) * sets * sets * (steps + 1)];
    let mut queue = VecDeque::from([(0, Situation { at: 0, snapshots: 0, tapes: 0, left: steps })]);
    while let Some((so_far, s)) = queue.pop_front() {
        if s.left == 0 {
            return so_far;
        }
        if cost[index(s)] <= so_far {
            continue;
        }
        cost[index(s)] = so_far;
        let mut free = |next| queue.push_front((so_far, next));
        let room = s.snapshots.count_ones() + s.tapes.count_ones() < slots;
        for t in (0..steps).filter(|t| s.snapshots >> t & 1 == 1) {
            free(Situation { at: t, ..s });
            free(Situation { snapshots: s.snapshots & !(1 << t), ..s });
        }
        for t in (0..steps).filter(|t| s.tapes >> t & 1 == 1) {
            free(Situation { tapes: s.tapes & !(1 << t), ..s });
            if t + 1 == s.left {
                free(Situation { tapes: s.tapes & !(1 << t), left: t, ..s });
            }
        }
        if s.at == steps {
            continue;
        }
        if room {
            free(Situation { snapshots: s.snapshots | 1 << s.at, ..s });
        }
        let after = Situation { at: s.at + 1, ..s };
        queue.push_back((so_far + 1, after));
        if s.at + 1 == s.left {
            queue.push_back((so_far + 1, Situation { left: s.at, ..after }));
        }
        if room && keep_tapes {
            queue.push_back((so_far + 1, Situation { tapes: s.tapes | 1 << s.at, ..after }));
        }
    }
    unreachable!("with one slot there is a way")
}
