//! Patterns of a selector: the keys and the channels that its commands may name.

use super::rule::{RuleError, has_blanks};
use crate::command::glob;
use crate::command::key_spec::KeyUse;

/// The keys that a selector allows.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyRules {
    is_all: bool,
    patterns: Vec<KeyPattern>,
}

#[derive(Debug, Clone)]
struct KeyPattern {
    text: Box<[u8]>,
    reads: bool,
    writes: bool,
}

impl KeyRules {
    /// `allkeys` or `resetkeys`.
    pub(super) fn set_all(&mut self, is_all: bool) {
        *self = Self { is_all, patterns: Vec::new() };
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Number of patterns.
    pub(super) fn count(&self) -> usize {
        self.patterns.len()
    }

    /// Length of all patterns, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.text.len()).sum()
    }

    /// Adds `~pattern`, `%R~pattern`, `%W~pattern` or `%RW~pattern`.
    pub(super) fn add(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        if self.is_all {
            return Err(RuleError::AllKeys);
        }
        let KeyPattern { text, reads, writes } = parse(rule)?;
        match self.patterns.iter_mut().find(|pattern| pattern.text == text) {
            Some(pattern) => {
                pattern.reads |= reads;
                pattern.writes |= writes;
            }
            None => self.patterns.push(KeyPattern { text, reads, writes }),
        }
        Ok(())
    }

    /// Whether a command may use `key` so. A pattern that takes too many steps does not match.
    pub(super) fn allow(&self, key: &[u8], key_use: KeyUse, budget: &mut glob::Budget) -> bool {
        self.is_all
            || self.patterns.iter().any(|pattern| {
                (pattern.reads || !key_use.reads)
                    && (pattern.writes || !key_use.writes)
                    && glob::matches(&pattern.text, key, false, budget) == Ok(true)
            })
    }

    /// Appends the patterns, separated by blanks.
    pub(super) fn describe(&self, text: &mut Vec<u8>) {
        if self.is_all {
            return text.extend_from_slice(b"~*");
        }
        for (number, pattern) in self.patterns.iter().enumerate() {
            if number > 0 {
                text.push(b' ');
            }
            text.extend_from_slice(match (pattern.reads, pattern.writes) {
                (true, false) => b"%R~",
                (false, true) => b"%W~",
                _ => b"~",
            });
            text.extend_from_slice(&pattern.text);
        }
    }
}

fn parse(rule: &[u8]) -> Result<KeyPattern, RuleError> {
    let (mut reads, mut writes) = (false, false);
    let mut rest = rule;
    if let [b'%', letters @ ..] = rule {
        rest = letters;
        loop {
            match rest {
                [b'r' | b'R', behind @ ..] if !reads => (reads, rest) = (true, behind),
                [b'w' | b'W', behind @ ..] if !writes => (writes, rest) = (true, behind),
                _ => break,
            }
        }
        // Redis takes `%R` for `%R~`.
        if !(reads || writes) || !(rest.is_empty() || rest.starts_with(b"~")) {
            return Err(RuleError::Syntax);
        }
    } else {
        (reads, writes) = (true, true);
    }
    let text = rest.strip_prefix(b"~").unwrap_or(rest);
    if has_blanks(text) {
        return Err(RuleError::Syntax);
    }
    Ok(KeyPattern { text: Box::from(text), reads, writes })
}

/// The channels that a selector allows. No command has channels yet, so they are only listed.
#[derive(Debug, Clone, Default)]
pub(super) struct ChannelRules {
    is_all: bool,
    patterns: Vec<Box<[u8]>>,
}

impl ChannelRules {
    /// `allchannels` or `resetchannels`.
    pub(super) fn set_all(&mut self, is_all: bool) {
        *self = Self { is_all, patterns: Vec::new() };
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Number of patterns.
    pub(super) fn count(&self) -> usize {
        self.patterns.len()
    }

    /// Length of all patterns, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.len()).sum()
    }

    /// Adds a pattern.
    pub(super) fn add(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.is_all {
            return Err(RuleError::AllChannels);
        }
        if has_blanks(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.patterns.iter().any(|known| **known == *pattern) {
            self.patterns.push(Box::from(pattern));
        }
        Ok(())
    }

    /// Appends the patterns, separated by blanks.
    pub(super) fn describe(&self, text: &mut Vec<u8>) {
        if self.is_all {
            return text.extend_from_slice(b"&*");
        }
        for (number, pattern) in self.patterns.iter().enumerate() {
            text.extend_from_slice(if number > 0 { b" &" } else { b"&" });
            text.extend_from_slice(pattern);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(line: &str) -> KeyRules {
        let mut rules = KeyRules::default();
        line.split_whitespace().for_each(|rule| rules.add(rule.as_bytes()).unwrap());
        rules
    }

    #[test]
    fn patterns_are_listed_as_redis_lists_them() {
        for (given, listed) in [
            ("", ""),
            ("~a ~b ~a", "~a ~b"),
            ("%R~x %W~y %RW~z", "%R~x %W~y ~z"),
            ("%R~x %W~x", "~x"),
            ("%r~q %wr~v", "%R~q ~v"),
            ("%R", "%R~"),
            ("~", "~"),
            ("%RW~*", "~*"),
        ] {
            let mut text = Vec::new();
            keys(given).describe(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), listed, "{given}");
        }
        for wrong in ["%", "%~a", "%X~a", "%RR~a", "%Ra", "~a b", "%R~a\t"] {
            assert_eq!(KeyRules::default().add(wrong.as_bytes()), Err(RuleError::Syntax), "{wrong}");
        }
        let mut all = KeyRules::default();
        all.set_all(true);
        assert_eq!(all.add(b"~a"), Err(RuleError::AllKeys));
    }

    #[test]
    fn a_key_needs_one_pattern_with_all_permissions() {
        let rules = keys("~a* %R~r* %W~w* %R~both %W~bo*");
        let allows = |key: &str, reads, writes| {
            let key_use = KeyUse { names: &[], reads, writes };
            rules.allow(key.as_bytes(), key_use, &mut glob::Budget(1000))
        };
        assert!(allows("a1", true, true) && allows("r1", true, false) && allows("w1", false, true));
        assert!(!allows("r1", false, true) && !allows("w1", true, false) && !allows("x", false, false));
        // What only asks whether a key exists takes any pattern.
        assert!(allows("w1", false, false) && allows("r1", false, false));
        assert!(!allows("both", true, true), "no single pattern has both");
    }

    #[test]
    fn a_pattern_that_takes_too_long_does_not_match() {
        let rules = keys(&format!("~*{}b", "a".repeat(200)));
        let key = format!("{}b", "a".repeat(2000));
        let allows = |steps| {
            let key_use = KeyUse { names: &[], reads: true, writes: true };
            rules.allow(key.as_bytes(), key_use, &mut glob::Budget(steps))
        };
        assert!(allows(1_000_000) && !allows(0));
    }

    #[test]
    fn channels_are_listed_and_not_repeated() {
        let mut rules = ChannelRules::default();
        for pattern in ["a", "b", "a", ""] {
            rules.add(pattern.as_bytes()).unwrap();
        }
        let mut text = Vec::new();
        rules.describe(&mut text);
        assert_eq!(text, b"&a &b &");
        assert_eq!(rules.add(b"a b"), Err(RuleError::Syntax));
        rules.set_all(true);
        assert_eq!(rules.add(b"a"), Err(RuleError::AllChannels));
    }
}
