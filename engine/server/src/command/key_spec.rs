//! Key specifications: which words of a request are keys, and what the command does with each.
//!
//! `COMMAND INFO`, `COMMAND GETKEYS` and the key permissions of users ([`crate::acl`]) use the same
//! ones.

use plumbkv_resp::Request;

use super::args::{is, parse_integer};
use super::table::{Id, Spec, flag};

/// What a command does with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyUse {
    /// In Redis's words, as `COMMAND INFO` prints them.
    pub(crate) names: &'static [&'static str],
    /// The reply or another key depends on the value.
    pub(crate) reads: bool,
    /// The key may be created, changed or deleted.
    pub(crate) writes: bool,
}

const fn key_use(names: &'static [&'static str], reads: bool, writes: bool) -> KeyUse {
    KeyUse { names, reads, writes }
}

const READ: KeyUse = key_use(&["RO", "access"], true, false);
/// Only facts about the key, for example whether it exists: neither permission is required.
const LOOK: KeyUse = key_use(&["RO"], false, false);
const CHANGE: KeyUse = key_use(&["RW", "access", "update"], true, true);
const UPDATE: KeyUse = key_use(&["RW", "update"], false, true);
const OVERWRITE: KeyUse = key_use(&["OW", "update"], false, true);
const INSERT: KeyUse = key_use(&["OW", "insert"], false, true);
const APPEND: KeyUse = key_use(&["RW", "insert"], false, true);
const TAKE: KeyUse = key_use(&["RW", "access", "delete"], true, true);
const DELETE: KeyUse = key_use(&["RM", "delete"], false, true);
/// What is not known.
const NOTHING: KeyUse = key_use(&[], false, false);
/// SET before its options are known.
const SET: KeyUse = key_use(&["RW", "access", "update", "variable_flags"], true, true);

/// What a command does with its first key, and with those behind it.
pub(crate) fn uses(spec: &Spec) -> (KeyUse, KeyUse) {
    let first = match spec.id {
        Id::Set => SET,
        Id::Getset
        | Id::Getex
        | Id::Move
        | Id::Incr
        | Id::Decr
        | Id::Incrby
        | Id::Decrby
        | Id::Incrbyfloat => CHANGE,
        // How a script uses its keys is not known.
        Id::Eval | Id::Evalsha | Id::Fcall => CHANGE,
        Id::Mset | Id::Setex | Id::Psetex | Id::Restore => OVERWRITE,
        Id::Setnx | Id::Msetnx => INSERT,
        Id::Append => APPEND,
        Id::Getdel | Id::Rename | Id::Renamenx => TAKE,
        Id::Del | Id::Unlink => DELETE,
        Id::Exists | Id::Touch | Id::Type | Id::Strlen | Id::Watch | Id::MemoryUsage => LOOK,
        Id::ObjectEncoding | Id::ObjectFreq | Id::ObjectIdletime | Id::ObjectRefcount => LOOK,
        _ if spec.has(flag::READONLY) || spec.id == Id::Copy => READ,
        _ => UPDATE,
    };
    let second = match spec.id {
        Id::Rename | Id::Copy => OVERWRITE,
        Id::Renamenx => INSERT,
        _ => first,
    };
    (first, second)
}

/// The words of a request, the command's name first.
pub(crate) trait Words {
    fn count(&self) -> usize;

    /// The word at `place`; empty behind the last one.
    fn word(&self, place: usize) -> &[u8];
}

impl Words for Request<'_> {
    fn count(&self) -> usize {
        self.len()
    }

    fn word(&self, place: usize) -> &[u8] {
        self.arg(place)
    }
}

impl Words for [&[u8]] {
    fn count(&self) -> usize {
        self.len()
    }

    fn word(&self, place: usize) -> &[u8] {
        self.get(place).copied().unwrap_or_default()
    }
}

/// Whether requests for the command may have keys.
pub(crate) fn has_keys(spec: &Spec) -> bool {
    spec.keys.0 > 0 || is_script(spec)
}

/// The place of the number of keys in a script's request; the keys follow it.
const KEY_COUNT: usize = 2;

/// Whether a command runs a script, whose commands are looked at one by one.
pub(crate) fn is_script(spec: &Spec) -> bool {
    matches!(spec.id, Id::Eval | Id::EvalRo | Id::Evalsha | Id::EvalshaRo | Id::Fcall | Id::FcallRo)
}

/// The keys of a request, each as its place and its use. The request has a length that `spec`
/// accepts.
pub(crate) fn keys_of<W: Words + ?Sized>(spec: &Spec, words: &W) -> Keys {
    if is_script(spec) {
        return script_keys(spec, words);
    }
    let (first, last, step) = spec.keys;
    let (of_first, of_others) = match spec.id {
        Id::Set if (3..words.count()).any(|place| is(words.word(place), "GET")) => (CHANGE, CHANGE),
        Id::Set => (OVERWRITE, OVERWRITE),
        _ => uses(spec),
    };
    // Above zero, and words: the table and the arity say so.
    let place = |number: i64| if number < 0 { words.count() as i64 + number } else { number } as usize;
    Keys {
        next: if first > 0 { place(first) } else { 1 },
        end: if first > 0 { (place(last) + 1).min(words.count()) } else { 0 },
        step: step.max(1) as usize,
        of_next: of_first,
        of_others,
    }
}

/// The keys that a script declares. There are none where their number is not that of words, because
/// the command fails then. `atoi` reads a number that is not written as an integer, and nothing is
/// known of such keys, as in Redis.
fn script_keys<W: Words + ?Sized>(spec: &Spec, words: &W) -> Keys {
    let first = KEY_COUNT + 1;
    let rest = words.count().saturating_sub(first);
    let fits = |count: &i32| usize::try_from(*count).is_ok_and(|count| (1..=rest).contains(&count));
    let word = words.word(KEY_COUNT);
    // Both keep the low 32 bits.
    let written = parse_integer(word).map(|number| number as i32).filter(fits);
    let count = Some(written.unwrap_or_else(|| atoi(word))).filter(fits).unwrap_or(0) as usize;
    let (of_first, of_others) = if written.is_some() { uses(spec) } else { (NOTHING, NOTHING) };
    Keys { next: first, end: first + count, step: 1, of_next: of_first, of_others }
}

/// An integer as C's `atoi` reads it: blanks, a sign, and digits up to what is none.
fn atoi(word: &[u8]) -> i32 {
    let blanks = word.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let (is_negative, digits) = match &word[blanks..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        let digit = if is_negative { -digit } else { digit };
        number.saturating_mul(10).saturating_add(digit)
    });
    number as i32
}

/// Iterator over the keys of a request.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    next: usize,
    end: usize,
    step: usize,
    of_next: KeyUse,
    of_others: KeyUse,
}

impl Iterator for Keys {
    type Item = (usize, KeyUse);

    fn next(&mut self) -> Option<(usize, KeyUse)> {
        if self.next >= self.end {
            return None;
        }
        let key = (self.next, self.of_next);
        self.next += self.step;
        self.of_next = self.of_others;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table;

    fn keys(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let spec = table::find(words[0]).unwrap();
        let spec = if spec.is_container() { table::find_sub_command(spec, words[1]).unwrap() } else { spec };
        let found = keys_of(spec, &words[..]).map(|(place, key_use)| {
            let letters = [(key_use.reads, "r"), (key_use.writes, "w")];
            let letters: String = letters.iter().filter(|(is, _)| *is).map(|(_, letter)| *letter).collect();
            format!("{}:{letters}", String::from_utf8_lossy(words[place]))
        });
        found.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_are_found_with_what_the_command_does_with_them() {
        for (line, expected) in [
            ("get k", "k:r"),
            ("set k v", "k:w"),
            ("set k v ex 10 get", "k:rw"),
            ("set k get", "k:w"),
            ("mget a b c", "a:r b:r c:r"),
            ("mset a 1 b 2", "a:w b:w"),
            ("rename a b", "a:rw b:w"),
            ("copy a b replace", "a:r b:w"),
            ("lcs a b len", "a:r b:r"),
            ("exists a b", "a: b:"),
            ("del a b", "a:w b:w"),
            ("append k v", "k:w"),
            ("expire k 1", "k:w"),
            ("object encoding k", "k:"),
            ("eval text 2 a b c", "a:rw b:rw"),
            ("eval_ro text 1 a b", "a:r"),
            ("evalsha text 0 a", ""),
            ("evalsha_ro text 3 a b", ""),
            ("eval text -1 a", ""),
            ("eval text x a", ""),
            ("ping x", ""),
            ("keys *", ""),
        ] {
            assert_eq!(keys(line), expected, "{line}");
        }
    }
}
