//! What was the kernel asked for, and of whom? A number that comes back with the completion.

/// What a completion is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// A listener has connections to accept.
    Accept,
    Receive(usize),
    Send(usize),
    Room(usize),
    Stop,
    /// Connections have arrived from the thread that accepts.
    Bell,
    /// Something is due.
    Alarm,
    /// Something whose outcome does not matter.
    Nothing,
}

impl Of {
    pub(super) fn pack(self) -> u64 {
        match self {
            Self::Accept => 0,
            Self::Receive(index) => (index as u64) << 3 | 1,
            Self::Send(index) => (index as u64) << 3 | 2,
            Self::Stop => 3,
            Self::Nothing => 4,
            Self::Room(index) => (index as u64) << 3 | 5,
            Self::Bell => 6,
            Self::Alarm => 7,
        }
    }

    pub(super) fn unpack(data: u64) -> Self {
        let index = (data >> 3) as usize;
        match data & 7 {
            0 => Self::Accept,
            1 => Self::Receive(index),
            2 => Self::Send(index),
            3 => Self::Stop,
            5 => Self::Room(index),
            6 => Self::Bell,
            7 => Self::Alarm,
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_names_what_it_is_of() {
        for of in [
            Of::Accept,
            Of::Receive(0),
            Of::Send(0),
            Of::Receive(70_000),
            Of::Send(70_000),
            Of::Room(3),
            Of::Bell,
            Of::Alarm,
            Of::Stop,
            Of::Nothing,
        ] {
            assert_eq!(Of::unpack(of.pack()), of);
        }
    }
}
