//! Which words may stand in a load, and what each of them means? The same words are in cells, records and plans.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $text)] $word),+
        }

        impl $name {
            /// As it is spelled in files, cells and records.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $text),+
                }
            }
        }
    };
}

words! {
    /// How keys are drawn from the key space.
    Distribution {
        /// Each key as likely as any other.
        Uniform = "uniform",
        /// Zipf's law with exponent 0.99: a few keys are asked for much more often than the rest.
        Zipf = "zipf",
        /// The same law over how lately a key was written.
        Latest = "latest",
        /// One key after the other.
        Sequential = "sequential",
        /// One single key.
        Hot = "hot",
    }
}

words! {
    /// How the intended starts of an open loop are spaced.
    Arrival {
        /// Evenly.
        Fixed = "fixed",
        /// By independent arrivals: the gaps are exponential.
        Poisson = "poisson",
    }
}

words! {
    /// A figure that is looked for, instead of a load that is given.
    Seek {
        /// The closed loop's throughput, of which the rates of an open loop are percentages.
        Peak = "peak",
        /// The highest rate at which 99 % of the requests are answered within a millisecond.
        Knee = "knee",
    }
}

words! {
    /// A protocol other than the target's usual one.
    Protocol {
        /// RESP after `HELLO 3`.
        Resp3 = "resp3",
        /// GET of a document by its path.
        Http = "http",
        /// The text protocol of memcached.
        Memcached = "memcached",
    }
}

words! {
    /// What carries the bytes, where it is not TCP.
    Transport {
        /// A unix domain socket.
        Unix = "unix",
        /// TLS over TCP.
        Tls = "tls",
    }
}

words! {
    /// What becomes of a connection after its request, where it is not kept.
    Connections {
        /// Every request opens a connection of its own.
        New = "new",
    }
}

words! {
    /// A load generator that nobody here wrote.
    ClientProgram {
        /// Redis's own.
        RedisBenchmark = "redis-benchmark",
        /// The usual one for HTTP.
        Wrk = "wrk",
    }
}
