//! On which CPUs do a target and the generator run?

use crate::model::Placement;

/// Where target and generator run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The target's CPU; none: any.
    pub target: Option<u32>,
    /// The generator's CPU; none: any.
    pub generator: Option<u32>,
}

impl Placed {
    /// The CPUs of a placement.
    #[must_use]
    pub fn of(placement: Placement, cpus: Option<(u32, u32)>) -> Self {
        match (placement, cpus) {
            (Placement::Apart, Some((target, generator))) => {
                Self { target: Some(target), generator: Some(generator) }
            }
            (Placement::Together, Some((target, _))) => {
                Self { target: Some(target), generator: Some(target) }
            }
            (Placement::Unpinned, _) | (_, None) => Self { target: None, generator: None },
        }
    }
}
