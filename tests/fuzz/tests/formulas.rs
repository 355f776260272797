//! The library's rules against the formulas of the oracle, at random numbers.

use tapewright_fuzz_tests::compare_rules;
use tapewright_test_support::Random;

/// Numbers of a few sizes and of both signs, and for some functions numbers between 0 and 1 or orders beside them.
fn points() -> Vec<[f64; 3]> {
    let mut random = Random::new(37);
    let ranges = [
        [(0.0, 1.0), (0.0, 5.0), (0.0, 5.0)],
        [(-3.0, 3.0); 3],
        [(0.0, 10.0), (0.0, 10.0), (0.0, 1.0)],
        [(-0.4, 0.0); 3],
    ];
    let points = |range: [(f64, f64); 3]| -> Vec<[f64; 3]> {
        (0..150).map(|_| range.map(|(low, high)| random.float(low, high))).collect()
    };
    ranges.map(points).concat()
}

#[test]
fn rules_have_the_values_and_slopes_of_formulas() {
    for single in [false, true] {
        let (wrong, counts) = compare_rules(&points(), single);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for (name, count) in counts {
            assert!(count >= 50, "{name} is compared {count} times alone: a formula stands in oracle/formulas.rs");
        }
    }
}
