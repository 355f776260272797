//! Names of strategies, as programs write them.

/// The type `S` in the form in which it is written after `use tapewright::prelude::*`, without parameters that are the
/// default: `Jacobian`, `PrimalValue<f64, Reuse>`.
pub(crate) fn of<S>() -> String {
    let full = core::any::type_name::<S>();
    let mut name = String::new();
    let mut word = String::new();
    for character in full.chars() {
        match character {
            ':' => word.clear(),
            '<' | '>' | ',' | ' ' => {
                name += &word;
                name.push(character);
                word.clear();
            }
            _ => word.push(character),
        }
    }
    name += &word;
    shortened(name)
}

/// Removes default parameters, which need not be written, and writes the policy in front: `Checked<Jacobian>`.
fn shortened(name: String) -> String {
    let mut name = name.replace("Linear<u32>", "Linear").replace("Spilled<SystemDefaults>", "Spilled");
    if let Some((strategy, traced)) = name.strip_suffix(">>").and_then(|name| name.split_once(", Tracing<")) {
        return format!("Traced<{}>", shortened(format!("{strategy}, {traced}>")));
    }
    for (policy, alias) in [("Checked", "Checked"), ("Subgradient", "Subgradient"), ("Tracing", "Traced")] {
        if let Some(strategy) = name.strip_suffix(&format!(", {policy}>")) {
            return format!("{alias}<{}>", shortened(format!("{strategy}>")));
        }
    }
    for default in ["Strict", "InMemory", "Linear", "f64", "1"] {
        for before in [", ", "<"] {
            if let Some(rest) = name.strip_suffix(&format!("{before}{default}>")) {
                name = if before == "<" { rest.to_owned() } else { format!("{rest}>") };
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::{
        Checked, Continuation, Hybrid, Jacobian, Linear, PrimalValue, Reuse, Shared, Spilled, Subgradient, Tangent,
        Traced,
    };

    #[test]
    fn names_are_as_short_as_programs_write_them() {
        assert_eq!(of::<Jacobian>(), "Jacobian");
        assert_eq!(of::<Continuation<f64, Reuse>>(), "Continuation<f64, Reuse>");
        assert_eq!(of::<PrimalValue<f32>>(), "PrimalValue<f32>");
        assert_eq!(of::<Hybrid<f64, Linear, Shared>>(), "Hybrid<f64, Linear, Shared>");
        assert_eq!(of::<Hybrid<f64, Linear, Shared<0, 4096>>>(), "Hybrid<f64, Linear, Shared<0, 4096>>");
        assert_eq!(of::<Jacobian<f64, Reuse, Spilled>>(), "Jacobian<f64, Reuse, Spilled>");
        assert_eq!(of::<Jacobian<f64, Linear<u64>>>(), "Jacobian<f64, Linear<u64>>");
        assert_eq!(of::<Tangent>(), "Tangent");
        assert_eq!(of::<Tangent<8>>(), "Tangent<8>");
        assert_eq!(of::<Checked<Continuation>>(), "Checked<Continuation>");
        assert_eq!(of::<Subgradient<Tangent<4>>>(), "Subgradient<Tangent<4>>");
        assert_eq!(of::<Traced<PrimalValue<f64, Reuse>>>(), "Traced<PrimalValue<f64, Reuse>>");
        assert_eq!(of::<Traced<Checked<Jacobian>>>(), "Traced<Checked<Jacobian>>");
    }
}
