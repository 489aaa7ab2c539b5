//! Which keys may be evicted, and which of them goes first?

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Which keys may be evicted when the cap is reached, and which of them goes first. Redis's names, and one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// `noeviction`: none; writes that need room are refused.
    NoEviction,
    /// `allkeys-lru`: the least recently used of the sampled keys.
    #[default]
    AllkeysLru,
    /// `allkeys-lfu`: the least frequently used of the sampled keys, where old uses count less.
    AllkeysLfu,
    /// `allkeys-s3fifo`: S3-FIFO, queues in which a key that was accessed gets another turn. Not one of Redis's.
    AllkeysS3Fifo,
    /// `allkeys-random`: any key.
    AllkeysRandom,
    /// `volatile-lru`: as `allkeys-lru`, among keys with an expiry.
    VolatileLru,
    /// `volatile-lfu`: as `allkeys-lfu`, among keys with an expiry.
    VolatileLfu,
    /// `volatile-random`: any key with an expiry.
    VolatileRandom,
    /// `volatile-ttl`: the sampled key that expires first.
    VolatileTtl,
}

impl Policy {
    /// All policies, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::NoEviction,
        Self::AllkeysLru,
        Self::AllkeysLfu,
        Self::AllkeysS3Fifo,
        Self::AllkeysRandom,
        Self::VolatileLru,
        Self::VolatileLfu,
        Self::VolatileRandom,
        Self::VolatileTtl,
    ];

    /// Redis's name of the policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoEviction => "noeviction",
            Self::AllkeysLru => "allkeys-lru",
            Self::AllkeysLfu => "allkeys-lfu",
            Self::AllkeysS3Fifo => "allkeys-s3fifo",
            Self::AllkeysRandom => "allkeys-random",
            Self::VolatileLru => "volatile-lru",
            Self::VolatileLfu => "volatile-lfu",
            Self::VolatileRandom => "volatile-random",
            Self::VolatileTtl => "volatile-ttl",
        }
    }

    pub(super) fn only_volatile(self) -> bool {
        matches!(self, Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl)
    }

    /// Whether it evicts the keys that were used least often.
    #[must_use]
    pub fn is_lfu(self) -> bool {
        matches!(self, Self::AllkeysLfu | Self::VolatileLfu)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = Error;

    /// Takes Redis's names, in any case.
    fn from_str(name: &str) -> Result<Self, Error> {
        if let Some(policy) = Self::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(name)) {
            return Ok(policy);
        }
        let known = Self::ALL.map(Self::name).join(", ");
        let reason = format!("`{name}` is no eviction policy; choose one of {known}");
        Err(Error::InvalidOption { option: "policy", reason })
    }
}
