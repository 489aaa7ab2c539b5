//! What is being done at this moment, for whoever shows it.

use crate::model::Mode;

/// A remark on the way through a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// `position` of the step.
    pub position: u32,
    /// Key of the target.
    pub target: String,
    /// Where it runs.
    pub mode: Mode,
    /// Label of the cell; empty while the target is started or ended.
    pub cell: String,
    /// What is being done.
    pub stage: Stage,
}

/// A part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The target is started.
    Starting,
    /// Keys are loaded.
    Loading,
    /// Connections are opened.
    Connecting,
    /// Load that is not counted.
    WarmingUp,
    /// Load that is counted.
    Measuring,
    /// A look at what is left.
    Checking,
    /// The target is ended.
    Stopping,
}

impl Stage {
    /// In a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Loading => "loading",
            Self::Connecting => "connecting",
            Self::WarmingUp => "warming up",
            Self::Measuring => "measuring",
            Self::Checking => "checking",
            Self::Stopping => "stopping",
        }
    }
}
