//! Jobs in another form: over packs as jobs over each lane, and on a device as jobs on the host.

pub(super) mod host;
pub(crate) mod lanes;
