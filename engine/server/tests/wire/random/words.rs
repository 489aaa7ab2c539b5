//! Words of random requests: few keys, so that requests meet, and values at the edges of what
//! commands read.

/// One word of a request.
pub(super) type Word = Vec<u8>;

// In the lists `|` separates words, some of which are empty or begin with a blank.

/// Keys. None of them is the name of a command or an integer: a request that lost a word does not
/// become one that waits or ends a server.
const KEYS: &[u8] = b"a|b|c|key:1||two words|line\r\nbreak|nul\0byte|\xff\xfe";

pub(super) fn is_key(word: &[u8]) -> bool {
    KEYS.split(|byte| *byte == b'|').any(|key| key == word)
}

/// Texts that are no numbers.
const TEXTS: &[u8] =
    b"|x|plumb|Hello-World|\0|\r\n|a\r\nb\r\n|\r\n$5\r\n|\xff|\x80\xff\0\r|\xc3\xa9\xe2\x82\xac|true|\
    (nil)| |\t1|ohmytext|mynewtext|-ERR x|+OK|a%sb%n|'quoted'|\"quoted\"|{}[]*?\\";

/// Integers, and what is nearly one.
const INTEGERS: &[u8] =
    b"0|1|-1|2|5|10|-5|44|127|128|-128|-129|32767|-32769|2147483647|2147483648|-2147483648|\
    -2147483649|4294967296|4294967297|9223372036854775806|9223372036854775807|9223372036854775808|\
    -9223372036854775807|-9223372036854775808|-9223372036854775809|18446744073709551615|18446744073709551616|\
    99999999999999999999| 1|1 |+1|-0|00|007|1e5|0x10|1.0|--1|-|+|1\0|1_000";

/// Numbers with a point, an exponent or a name, and what is nearly one.
const FLOATS: &[u8] = b"0|1|-1|0.1|0.2|-0.3|.5|5.|.|1.5|3.0e3|1e5|1E-5|1e+5|1e|1e+|e5|-0.0|+1|1.| 1|1 |0x10|0X1.8p3|\
    0x.8|0x|0x.|0x1p|0x1p-1|-0xfp+2|0x1g|0x1p-16445|0x1p-16446|0x1.8p-16446|0x1p16383|0x1p16384|0xffffffffffffffff.8|\
    0x0p999999999|nan|-nan|nan(1)|NAN|inf|-inf|Infinity|+INF|infinit|1e300|-1e300|1e400|1e4932|-1e4932|\
    1.18973149535723176502e4932|1.18973149535723176503e4932|1e5000|-1e5000|1e-4940|1e-4950|1e-4951|1e-5000|\
    0e9999999999|1e0000000000001|1e99999999999999999999|1e-17|1e-18|0.000000000000000005|0.33333333333333333333|\
    1.23456789012345678901234567890|123456789.123456789|9223372036854775807|9223372036854775808.5|\
    18446744073709551615|18446744073709551616|1,5|1\0";

/// Where SETRANGE begins. Offsets between the short ones and those that Redis refuses would make
/// long values.
const OFFSETS: &[u8] =
    b"0|1|2|5|20|300|-1|-9223372036854775808|536870912|536870913|4294967296|9223372036854775807|\
    9223372036854775808|x||1.5|+1| 1|1e2|0x10";

/// Lifetimes that no command takes, or that have passed.
const BAD_LIFETIMES: &[u8] =
    b"0|-1|-100|9223372036854775807|9223372036854775808|-9223372036854775808|x||1.5| 1|+1|1e5|\
    0x10|99999999999999999999";

/// Ends of lifetimes: far away, long ago, or no integers. As lifetimes they would be long, too:
/// `ABSTTL` may get lost.
const MOMENTS_S: &[u8] =
    b"4102444800|4102444801|4200000000|32503680000|9223372036854775|9223372036854776|100000000|0|-1|\
    1000000000|-9223372036854775808|9223372036854775807|x||4102444800.5|+4102444800";
const MOMENTS_MS: &[u8] =
    b"4102444800000|4102444800123|4102444800499|4102444800500|4102444800999|32503680000001|\
    9223372036854775000|100000000000|0|-1|1000000000000|-9223372036854775808|9223372036854775808|x|";

/// Whether a request may give this second as the end of a lifetime.
pub(super) fn is_moment(second: i64) -> bool {
    let is = |unit: i64| {
        move |word: &[u8]| {
            std::str::from_utf8(word)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .is_some_and(|moment| moment / unit == second)
        }
    };
    MOMENTS_S.split(|byte| *byte == b'|').any(is(1)) || MOMENTS_MS.split(|byte| *byte == b'|').any(is(1_000))
}

/// Patterns of KEYS and SCAN.
const PATTERNS: &[u8] =
    b"*|**|a|?|[ab]|[^a]|[a-c]|[c-a]|[a|[|[]|[^]|[a-|[\\a]|\\a|\\|*e*|*\\*|key:*|k?y:[0-9]|*[^a]*|t*s|\
    ??||*\0*|*:1*|[!a]|\xff*";

/// Names of connections.
const NAMES: &[u8] = b"plumb||two words|line\n|\xff|\x7f|!|~|a=b|nul\0";

/// Options that no command has. None is a number, which a request that lost a word would take for a
/// short lifetime.
const NO_OPTIONS: &[u8] = b"FOO||N|\r\n|x\r\n|\xc3\xa9|NXX";

/// Draws words.
pub(super) struct Words {
    pub(super) random: fastrand::Rng,
}

impl Words {
    pub(super) fn one_of(&mut self, list: &[u8]) -> Word {
        let words: Vec<&[u8]> = list.split(|byte| *byte == b'|').collect();
        words[self.random.usize(..words.len())].to_vec()
    }

    /// True once in `times` times.
    pub(super) fn seldom(&mut self, times: u32) -> bool {
        self.random.u32(..times) == 0
    }

    /// The words of a name, in any case.
    pub(super) fn name(&mut self, name: &str) -> Vec<Word> {
        name.split(' ').map(|word| self.in_any_case(word)).collect()
    }

    fn in_any_case(&mut self, word: &str) -> Word {
        match self.random.u32(..8) {
            0 => word
                .bytes()
                .map(|byte| if byte.is_ascii_alphabetic() && self.random.bool() { byte ^ 0x20 } else { byte })
                .collect(),
            1 | 2 => word.to_ascii_lowercase().into_bytes(),
            _ => word.as_bytes().to_vec(),
        }
    }

    pub(super) fn key(&mut self) -> Word {
        self.one_of(KEYS)
    }

    pub(super) fn keys(&mut self) -> Vec<Word> {
        (0..self.random.usize(1..5)).map(|_| self.key()).collect()
    }

    pub(super) fn pairs(&mut self) -> Vec<Word> {
        (0..self.random.usize(1..4)).flat_map(|_| [self.key(), self.value()]).collect()
    }

    pub(super) fn integer(&mut self) -> Word {
        match self.random.u32(..4) {
            0 => self.random.i64(-50..50).to_string().into_bytes(),
            _ => self.one_of(INTEGERS),
        }
    }

    /// The number of a database, mostly.
    pub(super) fn database(&mut self) -> Word {
        match self.random.u32(..16) {
            0 => self.integer(),
            1 => b"15".to_vec(),
            2..=7 => b"1".to_vec(),
            _ => b"0".to_vec(),
        }
    }

    pub(super) fn float(&mut self) -> Word {
        let random = &mut self.random;
        match random.u32(..8) {
            0 => format!("{}.{}", random.i32(..), random.u64(..)).into_bytes(),
            1 => format!("{:e}", f64::from_bits(random.u64(..))).into_bytes(),
            2 => {
                let (whole, fraction) = (random.u64(..), random.u64(..));
                format!("{whole:#x}.{fraction:x}p{}", random.i16(-70..70)).into_bytes()
            }
            3 if self.seldom(4) => self.long_number(),
            _ => self.one_of(FLOATS),
        }
    }

    /// A number about as long as Redis reads them.
    fn long_number(&mut self) -> Word {
        let digits = self.random.usize(5110..5125);
        let mut number: Word = (0..digits).map(|_| self.random.u8(b'0'..=b'9')).collect();
        number[self.random.usize(..20)] = b'.';
        number
    }

    /// A value of any kind, seldom longer than some hundred bytes.
    pub(super) fn value(&mut self) -> Word {
        match self.random.u32(..20) {
            0..=5 => self.one_of(TEXTS),
            6..=10 => self.integer(),
            11..=13 => self.float(),
            14 | 15 => self.any_bytes(80),
            16 => self.letters(600),
            // The longest one that Redis embeds, and one beyond.
            17 => vec![b'e'; self.random.usize(43..47)],
            // The longest one that is not compressed, and one beyond.
            18 => vec![b'c'; self.random.usize(19..23)],
            _ => self.letters(30),
        }
    }

    /// What values are made longer by.
    pub(super) fn part(&mut self) -> Word {
        match self.random.u32(..4) {
            0 => self.one_of(TEXTS),
            1 => self.integer(),
            2 => self.letters(20),
            _ => self.any_bytes(10),
        }
    }

    fn any_bytes(&mut self, most: usize) -> Word {
        (0..self.random.usize(..=most)).map(|_| self.random.u8(..)).collect()
    }

    /// Few letters, so that values can be compressed and have much in common.
    fn letters(&mut self, most: usize) -> Word {
        let kinds = self.random.u8(1..6);
        (0..self.random.usize(..=most)).map(|_| b'a' + self.random.u8(..kinds)).collect()
    }

    /// Seconds that a key is to live: so many that no test lasts as long and hardly any are drawn
    /// twice, or none.
    pub(super) fn seconds(&mut self) -> Word {
        match self.random.u32(..8) {
            0 | 1 => self.one_of(BAD_LIFETIMES),
            2 => b"9223372036854776".to_vec(),
            _ => self.random.u64(100_000..100_000_000).to_string().into_bytes(),
        }
    }

    /// The same in milliseconds.
    pub(super) fn milliseconds(&mut self) -> Word {
        match self.random.u32(..4) {
            0 => self.one_of(BAD_LIFETIMES),
            _ => self.random.u64(100_000_000..100_000_000_000).to_string().into_bytes(),
        }
    }

    pub(super) fn moment_s(&mut self) -> Word {
        self.one_of(MOMENTS_S)
    }

    pub(super) fn moment_ms(&mut self) -> Word {
        self.one_of(MOMENTS_MS)
    }

    pub(super) fn offset(&mut self) -> Word {
        self.one_of(OFFSETS)
    }

    pub(super) fn pattern(&mut self) -> Word {
        self.one_of(PATTERNS)
    }

    /// A name of a connection. One that is too long for this server is no name for Redis either.
    pub(super) fn connection(&mut self) -> Word {
        match self.random.u32(..8) {
            0 => vec![b'n'; 256],
            1 => [&[b'n'; 256][..], b" "].concat(),
            _ => self.one_of(NAMES),
        }
    }

    pub(super) fn no_option(&mut self) -> Word {
        self.one_of(NO_OPTIONS)
    }
}
