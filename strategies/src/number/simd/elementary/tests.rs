//! Functions of registers beside the standard library, on all instruction sets.
#![allow(clippy::unreadable_literal, reason = "the numbers of tables are generated")]

use super::{angle, circular, error, exponential, logarithm, power};
use crate::number::simd::dispatch::{CHANGES, InstructionSet, Registers, SimdTask};
use crate::number::simd::vector::SimdVector;
use crate::number::special;

/// A function of registers, applied to all numbers and to 16 second arguments.
macro_rules! tasks {
    ($($name:ident($x:ident, $y:ident) = $f:expr;)*) => { $(
        struct $name<'a>(&'a mut [f64; 16], [f64; 16]);
        impl SimdTask<f64> for $name<'_> {
            type Output = ();
            #[inline(always)]
            unsafe fn run<L: SimdVector<Number = f64>>(self) {
                for at in (0..16).step_by(L::N) {
                    // SAFETY: 16 is a multiple of the number of elements.
                    unsafe {
                        let ($x, $y) = (L::load(self.0.as_ptr().add(at)), L::load(self.1.as_ptr().add(at)));
                        $f.store(self.0.as_mut_ptr().add(at));
                    }
                }
            }
        }
    )* };
}
tasks! {
    Exp(x, _y) = exponential::exp(x);
    Exp2(x, _y) = exponential::exp2(x);
    ExpM1(x, _y) = exponential::exp_m1(x);
    Sinh(x, _y) = exponential::sinh(x).0;
    Cosh(x, _y) = exponential::cosh(x).0;
    Tanh(x, _y) = exponential::tanh(x);
    Sigmoid(x, _y) = exponential::sigmoid(x).0;
    Softplus(x, _y) = exponential::softplus(x);
    LnSigmoid(x, _y) = exponential::ln_sigmoid(x);
    Ln(x, _y) = logarithm::ln(x);
    Ln1p(x, _y) = logarithm::ln_1p(x);
    Log2(x, _y) = logarithm::log2(x);
    Log10(x, _y) = logarithm::log10(x);
    SinOf(x, _y) = circular::sin_cos(x).0;
    CosOf(x, _y) = circular::cos_sin(x).0;
    Tan(x, _y) = circular::tan(x);
    Asin(x, _y) = angle::asin(x);
    Acos(x, _y) = angle::acos(x);
    Atan(x, _y) = angle::atan(x);
    Erf(x, _y) = error::erf(x);
    Erfc(x, _y) = error::erfc(x);
    NormalCdf(x, _y) = error::normal_cdf(x);
    NormalPdf(x, _y) = error::normal_pdf(x);
    Pow(x, y) = power::pow(x, y);
    Atan2(y, x) = angle::atan2(y, x);
    Square(x, _y) = power::powi(x, 2);
    Inverse(x, _y) = power::powi(x, -7);
}

/// Distance of two numbers in units in the last place.
#[allow(clippy::cast_precision_loss, reason = "a distance")]
fn units(found: f64, expected: f64) -> f64 {
    if found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan() {
        return 0.0;
    }
    let ordered = |x: f64| if x < 0.0 { -(x.to_bits().cast_signed() & i64::MAX) } else { x.to_bits().cast_signed() };
    (i128::from(ordered(found)) - i128::from(ordered(expected))).unsigned_abs() as f64
}

const SPECIAL: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    -1e-300,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    709.7,
    -745.0,
    1e300,
    -1e300,
    0.5,
    f64::MIN_POSITIVE,
    2.0,
    -2.0,
    3.0,
    10.0,
    1000.0,
    1024.0,
    1.0 - 0.5 * f64::EPSILON,
    26.4,
    -36.9,
    40.0,
    -40.0,
    f64::MAX,
    f64::MIN,
    -0.5,
    1e-17,
    -1e-20,
];

/// A function of two arguments, of which the second may be unused, on the current instruction set.
type Run = fn(&mut [f64; 16], [f64; 16]);

/// Asserts that a function of registers is within these units of the standard library, which is itself within one,
/// and has the same bits on all instruction sets.
fn check_at(run: Run, library: fn(f64, f64) -> f64, [x, y]: [[f64; 16]; 2], most: f64) -> f64 {
    let mut found = [[0.0; 16]; 3];
    for (set, found) in
        [InstructionSet::Baseline, InstructionSet::Middle, InstructionSet::Wide].into_iter().zip(&mut found)
    {
        *found = x;
        set.set();
        run(found, y);
    }
    InstructionSet::best().set();
    let mut off = 0.0_f64;
    for k in 0..16 {
        let (x, y, one) = (x[k], y[k], found[0][k]);
        let expected = library(x, y);
        let same = |a: f64| a.to_bits() == one.to_bits() || a.is_nan() && one.is_nan();
        assert!(found.iter().all(|all| same(all[k])), "{x:e}, {y:e}: {found:?}");
        off = off.max(units(one, expected));
        assert!(units(one, expected) <= most, "at {x:e}, {y:e}: {one:e} instead of {expected:e}");
        assert!(one != 0.0 || one.to_bits() == expected.to_bits(), "the sign of zero at {x:e}, {y:e}");
    }
    off
}

/// Asserts the same at special numbers, and at random ones of these sizes.
fn check(run: Run, library: fn(f64, f64) -> f64, sizes: &[f64], most: f64) {
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from_bits(0x3FF0_0000_0000_0000 | state >> 12) * 2.0 - 3.0
    };
    for y in SPECIAL {
        for half in [0, 16] {
            check_at(run, library, [core::array::from_fn(|k| SPECIAL[half + k]), [y; 16]], most);
        }
    }
    for size in sizes {
        for _ in 0..if cfg!(miri) { 3 } else { 10_000 } {
            let (x, y) = (core::array::from_fn(|_| size * random()), core::array::from_fn(|_| 50.0 * random()));
            check_at(run, library, [x, y], most);
        }
    }
}

/// A task as a function.
macro_rules! run {
    ($name:ident) => {
        |x, y| {
            // SAFETY: tasks have no conditions.
            unsafe { f64::dispatch($name(x, y)) }
        }
    };
}

/// Rows of checks: the row `Tan, |x, _| x.tan(), [4.0, 1e5], 1.0;` names the function of registers, that of the
/// standard library, sizes of arguments, and the units that may be between them.
macro_rules! checks {
    ($($name:ident, $library:expr, $sizes:expr, $most:expr;)*) => {
        $(check(run!($name), $library, &$sizes, $most);)*
    };
}

// The instruction set is that of the whole process, so one test checks all functions.
#[test]
fn functions_of_registers_agree_with_the_standard_library_on_all_instruction_sets() {
    let _alone = CHANGES.lock();
    checks! {
        Exp, |x, _| x.exp(), [700.0, 1.0], 1.0;
        Exp2, |x, _| x.exp2(), [1000.0, 1.0, 1e-9], 1.0;
        ExpM1, |x, _| x.exp_m1(), [2.0, 1e-9], 2.0;
        Sinh, |x, _| x.sinh(), [700.0, 2.0, 1e-9], 2.0;
        Cosh, |x, _| x.cosh(), [700.0, 2.0], 2.0;
        Tanh, |x, _| x.tanh(), [3.0, 1e-5], 4.0;
        Sigmoid, |x, _| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }, [30.0, 1.0], 3.0;
        Softplus, |x, _| x.max(0.0) + (-x.abs()).exp().ln_1p(), [30.0, 1.0], 2.0;
        LnSigmoid, |x, _| x.min(0.0) - (-x.abs()).exp().ln_1p(), [30.0, 1.0], 2.0;
        Ln, |x, _| x.ln(), [2.0, 1e250], 1.0;
        Ln1p, |x, _| x.ln_1p(), [1.0, 1e10, 1e-9, 1e250], 1.0;
        Log2, |x, _| x.log2(), [2.0, 1e250], 1.0;
        Log10, |x, _| x.log10(), [2.0, 1e250], 2.0;
        SinOf, |x, _| x.sin(), [4.0, 1e5], 1.0;
        CosOf, |x, _| x.cos(), [4.0, 1e5], 1.0;
        Tan, |x, _| x.tan(), [1.0, 4.0, 1e5, 1e-9], 1.0;
        Asin, |x, _| x.asin(), [1.0, 0.1, 1e-9], 1.0;
        Acos, |x, _| x.acos(), [1.0, 0.1, 1e-9], 1.0;
        Atan, |x, _| x.atan(), [1.0, 4.0, 1e5, 1e-9], 1.0;
        Erf, |x, _| special::erf(x), [6.0, 1.0, 1e-9], 1.0;
        // That of `libm` is off by up to four units; see below.
        Erfc, |x, _| special::erfc(x), [26.0, 3.0, 1.0], 5.0;
        NormalPdf, |x, _| 0.398_942_280_401_432_7 * (-0.5 * x * x).exp(), [20.0, 1.0], 2.0;
        Pow, f64::powf, [1.0, 100.0, 1e5], 1.0;
        Atan2, f64::atan2, [1.0, 100.0, 1e5, 1e-9], 1.0;
        Square, |x, _| x.powi(2), [100.0], 0.0;
        Inverse, |x, _| x.powi(-7), [100.0], 0.0;
    }
    for pair in NORMAL {
        check_at(run!(NormalCdf), |_, y| y, [[pair[0]; 16], [pair[1]; 16]], 1.0);
    }
    for pair in COMPLEMENTS {
        check_at(run!(Erfc), |_, y| y, [[pair[0]; 16], [pair[1]; 16]], 1.0);
    }
    for (x, y) in [(0.0, 0.5), (-0.0, 0.5), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0), (f64::NAN, f64::NAN)] {
        check_at(run!(NormalCdf), |_, y| y, [[x; 16], [y; 16]], 0.0);
    }
    // Powers that are floats are exact.
    for (x, y) in [(10.0, 3.0), (3.0, 20.0), (2.0, -1000.0), (1.5, 8.0), (4.0, 0.5), (7.0, 1.0), (0.1, 1.0)] {
        check_at(run!(Pow), f64::powf, [[x; 16], [y; 16]], 0.0);
    }
}

/// Numbers and the normal distribution function there, computed with 60 digits.
const NORMAL: [[f64; 2]; 32] = [
    [-30.087973259054344, 3.4805851711420917e-199],
    [1.287084425238234, 0.9009675683061111],
    [-2.393916765028983, 0.00833476559397856],
    [-24.776962867465446, 7.941903537494391e-136],
    [-14.200856167954598, 4.524996579005033e-46],
    [-16.222393149295524, 1.7513819882132642e-59],
    [-7.329909200198429, 1.1515435920764518e-13],
    [-1.2961725500374186, 0.09745802218680548],
    [-31.870178181933664, 3.45822581719944e-223],
    [-34.75271103303172, 6.306401160966868e-265],
    [0.7736645724742672, 0.780435412192045],
    [-16.958249012177653, 8.362737326614007e-65],
    [-2.4596763718505557, 0.0069531175187538125],
    [-35.90733365255113, 1.173554320026299e-282],
    [-16.402963461588737, 9.106625237123841e-61],
    [-4.252238577005567, 1.0582210562299762e-05],
    [-25.934462264100084, 1.361292753865228e-148],
    [5.591910604372579, 0.9999999887707774],
    [3.6628081349052763, 0.9998752673040148],
    [-34.65404074652364, 1.941431481139163e-263],
    [-34.88038211628773, 7.374353224143855e-267],
    [-12.177851197086149, 2.0394351680608355e-34],
    [5.322563162254468, 0.9999999488423795],
    [-19.22701354171865, 1.0996709266286658e-82],
    [-1.1336024114775465, 0.12848068052423892],
    [-0.31153369766913075, 0.3776974647393142],
    [-1.8838368497005282, 0.02979352369438366],
    [-1.1132333349078598, 0.1328041146996096],
    [-0.24844962539771176, 0.40189327069706937],
    [-0.016751034472597404, 0.4933176166195089],
    [-1.0676621989697095, 0.14283645783579327],
    [-1.0765338338360628, 0.14084428888186554],
];

/// Numbers and the complementary error function there, computed with 60 digits.
const COMPLEMENTS: [[f64; 2]; 42] = [
    [24.59309670045598, 4.898791836966635e-265],
    [24.33047958589918, 1.882055510647578e-259],
    [-4.190356232742122, 1.9999999968970814],
    [-3.284096154914508, 1.9999965895580858],
    [20.735964100142386, 4.967821423970462e-189],
    [17.551039650192745, 5.330713411775691e-136],
    [15.431372846087068, 1.395580508114121e-105],
    [3.8603666428526147, 4.777924418851058e-08],
    [13.390213301710798, 5.6935654262077226e-80],
    [13.417655476506813, 2.722728113096245e-80],
    [12.598528547584099, 5.215053555697584e-71],
    [-0.9317481518462216, 1.8123928489055463],
    [7.7814284893205965, 3.631169408032776e-28],
    [6.593018246571884, 1.1210286898240924e-20],
    [17.136386599598907, 9.631624420110389e-130],
    [25.834226014391767, 3.0734492845692463e-292],
    [24.380655138983794, 1.630333889654599e-260],
    [11.413665517738266, 1.3062971760451728e-58],
    [8.235334039227315, 2.3901857455199193e-31],
    [2.583703732778499, 0.0002582779798364833],
    [-0.8563026824285696, 1.774102628035732],
    [-0.890220571636724, 1.7919559444504423],
    [0.8595754483892484, 0.22412847051107368],
    [0.2738605114147097, 0.698536161588415],
    [0.5200596876028465, 0.462049977879755],
    [2.56715783131315, 0.0002828623783175358],
    [1.1030110765841132, 0.11878511602895234],
    [1.2420414441059955, 0.07900104894142512],
    [-0.05550637153975169, 1.0625679702835804],
    [-0.9045676834368712, 1.799191630252625],
    [0.3005717150446401, 0.6707837543393451],
    [-0.45321042805413336, 1.478435951844781],
    [1.0408953833488046, 0.1410078166834471],
    [2.994734272770208, 2.2835465184843988e-05],
    [1.6979187893834804, 0.01634051896337901],
    [-0.2726260127074225, 1.3001710709597405],
    [2.574286146331954, 0.00027201359878230037],
    [2.187039685686558, 0.001981834084661893],
    [1.937606767575911, 0.006140371950292876],
    [2.626374599590244, 0.00020380354824204238],
    [2.4842506132341033, 0.0004426425859871283],
    [0.01115206638141375, 0.9874167622804638],
];
