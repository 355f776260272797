//! Functions of kernels in C.

use crate::number::simd::rule::Part;
use crate::rules;

/// Name of a rule of this library, from its type name; `None` if another crate defines the rule.
pub(super) fn own(rule: &str) -> Option<&str> {
    rule.strip_prefix(rules::PATH)?.strip_prefix("::")?.rsplit("::").next()
}

/// Returns the expression for a part of the rule with this [name](core::any::type_name), with `$`, `#` and `@` in place
/// of the arguments; `None` if C has no such function.
pub(super) fn function(rule: &str, part: Part) -> Option<&'static str> {
    let name = own(rule)?;
    FUNCTIONS.iter().find(|row| (row.0, row.1) == (name, part)).map(|row| row.2)
}

/// C text for parts of rules: `$` and `#` stand for the arguments; in the derivative of a function of one argument, for
/// the argument and the value.
const FUNCTIONS: &[(&str, Part, &str)] = {
    use Part::{Left, Right, TakesLeft, Value};
    &[
        ("Exp", Value, "exp($)"),
        ("Exp", Left, "#"),
        ("Exp2", Value, "exp2($)"),
        ("Exp2", Left, "isinf(#) ? exp2($ - 1.0) * 1.3862943611198906 : # * 0.6931471805599453"),
        ("ExpM1", Value, "expm1($)"),
        ("ExpM1", Left, "exp($)"),
        ("Ln", Value, "log($)"),
        ("Ln", Left, "$ < 0.0 ? TW_NAN : 1.0 / ($ + 0.0)"),
        ("Log2", Value, "log2($)"),
        ("Log2", Left, "$ < 0.0 ? TW_NAN : 1.4426950408889634 / ($ + 0.0)"),
        ("Log10", Value, "log10($)"),
        ("Log10", Left, "$ < 0.0 ? TW_NAN : 0.4342944819032518 / ($ + 0.0)"),
        ("Ln1p", Value, "log1p($)"),
        ("Ln1p", Left, "1.0 + $ < 0.0 ? TW_NAN : 1.0 / (1.0 + $ + 0.0)"),
        ("Sin", Value, "sin($)"),
        ("Sin", Left, "cos($)"),
        ("Cos", Value, "cos($)"),
        ("Cos", Left, "-sin($)"),
        ("Tan", Value, "tan($)"),
        ("Tan", Left, "1.0 + # * #"),
        ("Asin", Value, "asin($)"),
        ("Asin", Left, "1.0 / sqrt((1.0 - $) * (1.0 + $))"),
        ("Acos", Value, "acos($)"),
        ("Acos", Left, "-(1.0 / sqrt((1.0 - $) * (1.0 + $)))"),
        ("Atan", Value, "atan($)"),
        ("Atan", Left, "fabs($) < 1e15 ? 1.0 / (1.0 + $ * $) : (1.0 / $) * (1.0 / $)"),
        ("Sinh", Value, "sinh($)"),
        ("Sinh", Left, "cosh($)"),
        ("Cosh", Value, "cosh($)"),
        ("Cosh", Left, "sinh($)"),
        ("Tanh", Value, "tanh($)"),
        ("Tanh", Left, "fabs(#) < 0.97 ? (1.0 - #) * (1.0 + #) : (1.0 / cosh($)) * (1.0 / cosh($))"),
        ("Asinh", Value, "asinh($)"),
        ("Asinh", Left, "1.0 / hypot(1.0, $)"),
        ("Acosh", Value, "acosh($)"),
        ("Acosh", Left, "1.0 / (sqrt($ - 1.0) * sqrt($ + 1.0))"),
        ("Atanh", Value, "atanh($)"),
        ("Atanh", Left, "isnan(#) ? # : 1.0 / ((1.0 - $) * (1.0 + $))"),
        ("ToDegrees", Value, "$ * 57.29577951308232"),
        ("ToDegrees", Left, "57.29577951308232"),
        ("ToRadians", Value, "$ * 0.017453292519943295"),
        ("ToRadians", Left, "0.017453292519943295"),
        ("Erf", Value, "erf($)"),
        ("Erf", Left, "1.1283791670955126 * exp(-$ * $)"),
        ("Erfc", Value, "erfc($)"),
        ("Erfc", Left, "-1.1283791670955126 * exp(-$ * $)"),
        ("NormalPdf", Value, "0.3989422804014327 * exp(-0.5 * $ * $)"),
        ("NormalPdf", Left, "# == 0.0 ? # : -$ * #"),
        ("NormalCdf", Value, "0.5 * erfc(-$ * 0.7071067811865476)"),
        ("NormalCdf", Left, "0.3989422804014327 * exp(-0.5 * $ * $)"),
        ("Recip", Value, "1.0 / $"),
        ("Recip", Left, "-(# * #)"),
        ("Cbrt", Value, "cbrt($)"),
        ("Cbrt", Left, "1.0 / (3.0 * # * #)"),
        ("Fract", Value, "$ - trunc($)"),
        ("Fract", Left, "tw_one(#)"),
        ("Sigmoid", Value, "tw_sigmoid($)"),
        ("Sigmoid", Left, "# * tw_sigmoid(-$)"),
        ("Softplus", Value, "fmax($, 0.0) + log1p(exp(-fabs($)))"),
        ("Softplus", Left, "tw_sigmoid($)"),
        ("Pow", Value, "pow($, #)"),
        ("Pow", Left, "tw_pow_left($, #)"),
        ("Pow", Right, "tw_pow_right($, #)"),
        ("Powi", Value, "tw_powi($, tw_whole(#))"),
        ("Powi", Left, "tw_powi_left($, tw_whole(#))"),
        ("Hypot", Value, "hypot($, #)"),
        ("SmoothAbs", Value, "hypot($, #)"),
        ("Hypot", Left, "tw_toward($, #)"),
        ("SmoothAbs", Left, "tw_toward($, #)"),
        ("Hypot", Right, "tw_toward(#, $)"),
        ("SmoothAbs", Right, "tw_toward(#, $)"),
        ("Atan2", Value, "atan2($, #)"),
        ("Atan2", Left, "tw_around(#, $)"),
        ("Atan2", Right, "-tw_around($, #)"),
        ("CopySign", Value, "copysign($, #)"),
        ("CopySign", Left, "$ == 0.0 ? 0.0 : isnan($) ? $ : copysign(1.0, $) * copysign(1.0, #)"),
        ("CopySign", Right, "0.0"),
        ("Powi", Right, "0.0"),
        ("AtLeast", Value, "$ < # ? # : $"),
        ("AtLeast", Left, "tw_one($ < # ? # : $)"),
        ("AtLeast", Right, "tw_one($ < # ? # : $)"),
        ("AtLeast", TakesLeft, "$ >= # || isnan($) ? 1.0 : 0.0"),
        ("AtMost", Value, "$ > # ? # : $"),
        ("AtMost", Left, "tw_one($ > # ? # : $)"),
        ("AtMost", Right, "tw_one($ > # ? # : $)"),
        ("AtMost", TakesLeft, "$ <= # || isnan($) ? 1.0 : 0.0"),
    ]
};
