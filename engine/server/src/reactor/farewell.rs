//! Why are sockets not closed where their connections end? Closing one takes the kernel some ten microseconds, and thousands may end at once:
//! the others are served in between.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Sockets closed in one turn, when few wait.
const FEW: usize = 32;

/// Sockets whose connections are over.
#[derive(Default)]
pub(crate) struct Farewell(VecDeque<OwnedFd>);

impl Farewell {
    pub(crate) fn add(&mut self, socket: OwnedFd) {
        self.0.push_back(socket);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Closes some of them; more where many wait, so that descriptors do not run out.
    pub(crate) fn close_some(&mut self) {
        let count = FEW.max(self.0.len() / 16).min(self.0.len());
        self.0.drain(..count).for_each(drop);
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_closed_in_the_end_and_few_at_once() {
        let mut farewell = Farewell::default();
        let file = std::fs::File::open("/dev/null").unwrap();
        (0..600).for_each(|_| farewell.add(file.try_clone().unwrap().into()));
        farewell.close_some();
        assert_eq!(farewell.0.len(), 600 - 37);
        let turns = std::iter::repeat_with(|| farewell.close_some()).take(30).count();
        assert!(farewell.is_empty() && turns == 30);
    }
}
