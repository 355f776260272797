//! Recording of launches that have run.

use tapewright_strategies::Taping;
use tapewright_strategies::contract::{Dependence, Flow};
use tapewright_strategies::kernel::launch::{Launch, LaunchSlot};
use tapewright_strategies::policy::{Policy, SingularSlope};

/// Reserves memory for the entry of a launch.
///
/// # Panics
///
/// When [`Taping::make_room`] does.
#[inline(always)]
#[track_caller]
pub(crate) fn make_room<S: Taping>(flow: Flow) {
    if let Flow::Recorded(number) = flow {
        S::make_room(number);
    }
}

/// [`make_room`] for a launch of a kernel, with a check that the policy has the partials of SIMD formulas.
///
/// # Panics
///
/// When [`make_room`] does, and when derivatives are passed on under a policy that has other partials.
#[inline(always)]
#[track_caller]
pub(super) fn make_room_for_kernel<S: Taping>(flow: Flow) {
    let is_strict = matches!(S::Policy::SLOPE, SingularSlope::Limit);
    assert!(
        is_strict || flow == Flow::Nowhere,
        "launches of kernels can be differentiated under the policy `Strict` only: {} has another one; use a strategy \
         with that policy, such as `Jacobian`, or write scalar statements",
        core::any::type_name::<S>()
    );
    make_room::<S>(flow);
}

/// Records a launch that has run, or carries its tangents. Returns the dependences of the written views, if tangents
/// are carried.
#[track_caller]
pub(crate) fn note<S: Taping>(
    flow: Flow,
    launch: impl Launch<S::Value>,
    arrays: &[&Dependence<S::Value>],
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    each: &mut dyn FnMut(S::Value, S::Id),
) -> Vec<Dependence<S::Value>> {
    let mut launch = Some(launch);
    let write = &mut |launched: &mut LaunchSlot<'_, _>| {
        launched.set_other(launch.take().expect("a launch is written once"));
    };
    note_written::<S>(flow, write, arrays, inputs, outputs, each)
}

/// [`note`] for a launch that writes one view and no variables. Returns the dependence of that view: `fresh` unless the
/// launch carries tangents.
#[track_caller]
pub(super) fn noted<S: Taping>(
    flow: Flow,
    launch: impl Launch<S::Value>,
    arrays: &[&Dependence<S::Value>],
    inputs: &[(S::Value, &S::Id)],
    fresh: Dependence<S::Value>,
) -> Dependence<S::Value> {
    let moving = note::<S>(flow, launch, arrays, inputs, &[], &mut |_, _| {});
    moving.into_iter().next().unwrap_or(fresh)
}

/// [`note`] for a launch that `write` puts directly into its slot of the recording.
#[track_caller]
pub(super) fn note_written<S: Taping>(
    flow: Flow,
    write: &mut dyn FnMut(&mut LaunchSlot<'_, S::Value>),
    arrays: &[&Dependence<S::Value>],
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    each: &mut dyn FnMut(S::Value, S::Id),
) -> Vec<Dependence<S::Value>> {
    match flow {
        Flow::Nowhere => {
            outputs.iter().for_each(|value| each(*value, S::passive()));
            Vec::new()
        }
        Flow::Recorded(number) => {
            S::record_launch(number, inputs, outputs, write, each);
            Vec::new()
        }
        Flow::Carried => {
            let mut launch = LaunchSlot::default();
            write(&mut launch);
            S::carry_launch(&*launch.into_launch(), arrays, inputs, outputs, each)
        }
    }
}
