//! Selectors: commands, keys and channels that are allowed together. A user has one, and more in
//! parentheses.

use super::commands::CommandRules;
use super::denied::Denied;
use super::patterns::{ChannelRules, KeyRules};
use super::rule::RuleError;
use crate::command::args::is;
use crate::command::glob;
use crate::command::key_spec::{self, Words};
use crate::command::table::{Spec, flag};

/// A selector; a new one allows nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    pub(super) commands: CommandRules,
    pub(super) keys: KeyRules,
    pub(super) channels: ChannelRules,
}

impl Selector {
    /// Reads the rules between the parentheses of a selector.
    pub(super) fn parse(rules: &[u8]) -> Result<Self, RuleError> {
        let mut selector = Self::default();
        let words = rules.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        for word in words {
            selector.apply(word)?;
        }
        Ok(selector)
    }

    /// Applies one rule about commands, keys or channels.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        match rule {
            b"~*" => self.keys.set_all(true),
            b"&*" => self.channels.set_all(true),
            _ if is(rule, "allkeys") => self.keys.set_all(true),
            _ if is(rule, "resetkeys") => self.keys.set_all(false),
            _ if is(rule, "allchannels") => self.channels.set_all(true),
            _ if is(rule, "resetchannels") => self.channels.set_all(false),
            _ if is(rule, "allcommands") => self.commands.set_all(true),
            _ if is(rule, "nocommands") => self.commands.set_all(false),
            [b'~' | b'%', ..] => self.keys.add(rule)?,
            [b'&', pattern @ ..] => self.channels.add(pattern)?,
            [b'+', command @ ..] => self.commands.apply(true, command)?,
            [b'-', command @ ..] => self.commands.apply(false, command)?,
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    /// Whether it allows everything, channels included, though no command has any.
    pub(super) fn is_all(&self) -> bool {
        self.commands.is_all() && self.keys.is_all() && self.channels.is_all()
    }

    /// Whether a request may be executed. The request has a length that `spec` accepts.
    pub(super) fn check<W: Words + ?Sized>(
        &self,
        spec: &'static Spec,
        words: &W,
        budget: &mut glob::Budget,
    ) -> Result<(), Denied> {
        if !spec.has(flag::NO_AUTH) && !self.commands.allow(spec.id, words.word(1)) {
            return Err(Denied::Command);
        }
        if self.keys.is_all() {
            return Ok(());
        }
        let mut keys = key_spec::keys_of(spec, words);
        match keys.find(|(place, key_use)| !self.keys.allow(words.word(*place), *key_use, budget)) {
            Some((place, _)) => Err(Denied::Key(place)),
            None => Ok(()),
        }
    }

    /// Number of rules.
    pub(super) fn count(&self) -> usize {
        self.commands.count() + self.keys.count() + self.channels.count()
    }

    /// Length of all rules, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.commands.bytes() + self.keys.bytes() + self.channels.bytes()
    }

    /// Appends the rules as `ACL LIST` shows them.
    pub(super) fn describe(&self, text: &mut Vec<u8>) {
        let start = text.len();
        self.keys.describe(text);
        if text.len() > start {
            text.push(b' ');
        }
        if !self.channels.is_all() {
            text.extend_from_slice(b"resetchannels");
            text.extend_from_slice(if self.channels.count() > 0 { b" " } else { b"" });
        }
        self.channels.describe(text);
        text.push(b' ');
        self.commands.describe(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(rules: &str) -> String {
        let mut text = Vec::new();
        Selector::parse(rules.as_bytes()).unwrap().describe(&mut text);
        String::from_utf8(text).unwrap()
    }

    /// What redis-server 7.0.15 lists for the same rules.
    #[test]
    fn selectors_are_listed_as_redis_lists_them() {
        for (given, listed) in [
            ("", "resetchannels -@all"),
            ("~a +get &z", "~a resetchannels &z -@all +get"),
            ("  ~a   %R~b ", "~a %R~b resetchannels -@all"),
            ("ALLKEYS AllChannels allCommands", "~* &* +@all"),
            ("~* &* +@all resetkeys resetchannels nocommands", "resetchannels -@all"),
            ("&a &b", "resetchannels &a &b -@all"),
        ] {
            assert_eq!(describe(given), listed, "{given}");
        }
        for wrong in ["on", ">password", "reset", "(~a)", "foo"] {
            assert_eq!(Selector::parse(wrong.as_bytes()).unwrap_err(), RuleError::Syntax, "{wrong}");
        }
    }

    #[test]
    fn only_all_of_everything_is_all() {
        for (rules, expected) in
            [("~* &* +@all", true), ("~* +@all", false), ("~* &* +@all -get", false), ("&* +@all ~a", false)]
        {
            assert_eq!(Selector::parse(rules.as_bytes()).unwrap().is_all(), expected, "{rules}");
        }
    }
}
