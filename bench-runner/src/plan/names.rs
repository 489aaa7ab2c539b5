//! How are modes and placements spelled in keys, in records and on the command line?

use crate::model::{Mode, Placement};

/// Every mode, in the order of a ladder that changes one thing a step.
/// [`Mode::External`] is no step of it and comes last.
pub const MODES: [Mode; 6] = [
    Mode::Native,
    Mode::NativeLimited,
    Mode::ContainerHost,
    Mode::ContainerPublished,
    Mode::ContainerNoIoUring,
    Mode::External,
];

/// The spelling of a mode in keys, records and on the command line.
#[must_use]
pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Native => "native",
        Mode::NativeLimited => "native_limited",
        Mode::ContainerHost => "container_host",
        Mode::ContainerPublished => "container_published",
        Mode::ContainerNoIoUring => "container_no_io_uring",
        Mode::External => "external",
    }
}

/// The spelling of a placement in keys and records.
#[must_use]
pub fn placement_name(placement: Placement) -> &'static str {
    match placement {
        Placement::Apart => "apart",
        Placement::Together => "together",
        Placement::Unpinned => "unpinned",
    }
}
