//! Bytes and seconds in words.

/// Bytes with three digits: `37 B`, `12.3 kB`, `118 MB`.
#[must_use]
pub fn bytes(bytes: usize) -> String {
    in_units(bytes as f64, &[(1e3, "B"), (1e6, "kB"), (1e9, "MB"), (1e12, "GB"), (f64::INFINITY, "TB")])
}

/// Seconds with three digits: `29.3 ns`, `1.72 ms`; `0 s` for 0.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    in_units(seconds * 1e9, &[(1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (f64::INFINITY, "s")])
}

/// A value in the first unit that is large enough; each unit is a thousand times the one before.
fn in_units(number: f64, units: &[(f64, &str)]) -> String {
    let mut scaled = number;
    for (end, unit) in units {
        // A value that would be rounded up to a thousand belongs to the next unit.
        if number < 0.9995 * end {
            let digits = match scaled {
                _ if *unit == "B" => 0,
                ..9.995 => 2,
                ..99.95 => 1,
                _ => 0,
            };
            return format!("{scaled:.digits$} {unit}");
        }
        scaled /= 1e3;
    }
    format!("{number}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_three_digits() {
        let bytes = [0, 37, 999, 1000, 12_345, 99_949, 99_950, 999_499, 999_500, 117_700_000].map(super::bytes);
        assert_eq!(
            bytes,
            ["0 B", "37 B", "999 B", "1.00 kB", "12.3 kB", "99.9 kB", "100 kB", "999 kB", "1.00 MB", "118 MB"]
        );
        let seconds = [0.0, 2.93e-8, 1.72e-3, 0.5, 75.0, f64::NAN].map(super::seconds);
        assert_eq!(seconds, ["0 s", "29.3 ns", "1.72 ms", "500 ms", "75.0 s", "NaN"]);
    }
}
