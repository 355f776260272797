//! The memory of programs, predicted and counted.

use tapewright::Dual;
use tapewright::programs::{Footprint, Program, ProgramReal, rows};
use tapewright::strategies::InRegisters;
use tapewright_test_support::counting::{Counting, live_since, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Statements of parameters, of data, with a result that is kept, and a function of a slice.
fn f<V: InRegisters>(p: &[ProgramReal<V>], d: &[ProgramReal<V>]) -> [ProgramReal<V>; 2] {
    let scale = (p[0] * p[1]).eval();
    let x = (scale * d[0]).exp().eval();
    let y = (x * d[1] + x.sin()).eval();
    [(tapewright::dot(&[x, y, p[0]], &[y, d[0], p[1]]) * y).eval(), (x + y).eval()]
}

/// The bytes of each kind of run with blocks of this width, and of what is the same for all widths.
fn most<V: InRegisters>(width: usize) -> ([usize; 3], Footprint) {
    let program = || Program::<V>::new(f::<V>).in_blocks_of(width);
    let [p, d] = [[V::from_f64(0.5), V::ONE], [V::from_f64(0.25), V::from_f64(-1.0)]];
    let data: Vec<V> = d.iter().copied().cycle().take(2 * 20).collect();
    let run = |program: &Program<'_, V>, k: usize| {
        let found = match k {
            0 => program.values(&p, rows(&data, 2)),
            1 => program.gradient(&p, rows(&data, 2)),
            _ => program.gradients(&p, rows(&data, 2)),
        };
        found.expect("it is a program").branches().recordings
    };
    let peaks = [0, 1, 2].map(|k| {
        let program = program();
        let before = live_since(0);
        run(&program, k);
        // The recording, and the lines, which are kept; the second call needs all else.
        let kept = live_since(0) - before;
        kept + peak(|| run(&program, k)).1
    });
    (peaks, program().footprint(&p, &d).expect("it is a program"))
}

fn check<V: InRegisters>() {
    let least = 8 * 64 / size_of::<V::Part>();
    // Memory that a thread keeps for all programs is as large as it becomes.
    let _ = most::<V>(8 * least);
    let (narrow, of_narrow) = most::<V>(least);
    for width in [2 * least, 4 * least, 8 * least] {
        let (wide, of_wide) = most::<V>(width);
        assert_eq!((of_wide.scenarios, of_wide.instructions, of_wide.once), (width, of_narrow.instructions, 1));
        let predicted = [of_wide.values, of_wide.gradient, of_wide.gradients];
        let before = [of_narrow.values, of_narrow.gradient, of_narrow.gradients];
        for k in 0..3 {
            assert_eq!(wide[k] - narrow[k], predicted[k].bytes - before[k].bytes, "{width} scenarios, run {k}");
            let each = predicted[k].bytes_of_scenario;
            assert_eq!(predicted[k].bytes - before[k].bytes, each * (width - least));
        }
    }
}

#[test]
fn blocks_take_the_predicted_bytes() {
    check::<f64>();
    check::<f32>();
    check::<Dual<f64, 1>>();
}

#[test]
fn footprints_are_counted_by_hand() {
    // Lines: the datum, the result, and what `exp` keeps, which is the result if there are derivatives.
    let program = Program::new(|p, d| [(p[0] * d[0]).exp().eval()]);
    let footprint = program.footprint(&[1.0], &[2.0]).unwrap();
    let mark = 1;
    assert_eq!(footprint.values.bytes_of_scenario, 3 * 8 + mark);
    // One number: the parameter. And the datum of 16 scenarios, written one behind the other.
    let (number, rows) = (8, 16 * 8);
    assert_eq!(footprint.values.bytes, 64 * footprint.values.bytes_of_scenario + number + rows);
    // The adjoint of the result, two partial derivatives, and a total for the parameter.
    assert_eq!(footprint.gradient.bytes_of_scenario, 5 * 8 + mark);
    assert_eq!(footprint.gradient.bytes, 64 * footprint.gradient.bytes_of_scenario + number + rows + 64);
    // The adjoint of the datum, too.
    assert_eq!(footprint.gradients.bytes_of_scenario, 6 * 8 + mark);
    let lines: Vec<String> = footprint.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "1 instructions for blocks of 64 scenarios, 0 statements once for a call");
    assert_eq!(lines[1], "values: 1736 bytes a thread, 25 for each scenario of a block");
}

#[test]
fn what_is_no_program_has_no_footprint() {
    let program = Program::new(|p, d| tapewright::preaccumulate(&[p[0], d[0]], |x| [(x[0] * x[1]).eval()]));
    let error = program.footprint(&[1.0], &[2.0]).unwrap_err();
    assert!(error.to_string().contains("are no instructions"), "{error}");
}
