//! Command rules of a selector: the commands that it allows, and the rules that say so.
//!
//! `ACL LIST` shows the rules in the order they were given, without those that have no effect: a
//! rule replaces earlier ones about commands that it covers, and one that changes nothing is not
//! kept. Redis 7.2 keeps rules in a similar way; 7.0 derives rules from the allowed commands, in
//! random order.

use super::category;
use super::command_set::CommandSet;
use super::rule::RuleError;
use crate::command::table::{self, Id, Spec};

/// The commands that a selector allows.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandRules {
    allowed: CommandSet,
    /// Whether the rules begin with `+@all`; otherwise with `-@all`.
    begins_with_all: bool,
    /// Applied in this order they give `allowed`.
    rules: Vec<CommandRule>,
}

#[derive(Debug, Clone)]
struct CommandRule {
    allows: bool,
    /// `get`, `config|get`, `@read` or `select|0`.
    text: Box<[u8]>,
    /// The commands that it is about.
    covers: CommandSet,
    first_word: Option<FirstWord>,
}

/// A denied command that is allowed with this first word: `+select|0`.
#[derive(Debug, Clone)]
struct FirstWord {
    id: Id,
    word: Box<[u8]>,
}

impl CommandRules {
    /// `+@all` or `-@all`.
    pub(super) fn set_all(&mut self, allows: bool) {
        let allowed = if allows { CommandSet::all() } else { CommandSet::default() };
        *self = Self { allowed, begins_with_all: allows, rules: Vec::new() };
    }

    pub(super) fn is_all(&self) -> bool {
        self.allowed == CommandSet::all()
    }

    /// Number of rules.
    pub(super) fn count(&self) -> usize {
        self.rules.len()
    }

    /// Length of all rules, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rules.iter().map(|rule| rule.text.len()).sum()
    }

    /// Whether a request is allowed; `first_word` is the word behind the command's name.
    pub(super) fn allow(&self, id: Id, first_word: &[u8]) -> bool {
        self.allowed.has(id)
            || self
                .rules
                .iter()
                .filter_map(|rule| rule.first_word.as_ref())
                .any(|first| first.id == id && first.word.eq_ignore_ascii_case(first_word))
    }

    /// Applies what follows `+` or `-` in a rule.
    pub(super) fn apply(&mut self, allows: bool, name: &[u8]) -> Result<(), RuleError> {
        if let Some(category) = name.strip_prefix(b"@") {
            if category.eq_ignore_ascii_case(b"all") {
                self.set_all(allows);
                return Ok(());
            }
            let index = category::find(category).ok_or(RuleError::UnknownCommand)?;
            let text = format!("@{}", category::NAMES[index]);
            self.add(allows, &text, CommandSet::of_category(index));
            return Ok(());
        }
        let bar = name.iter().rposition(|byte| *byte == b'|').filter(|_| allows);
        if let Some(bar) = bar {
            let (command, word) = (&name[..bar], &name[bar + 1..]);
            let spec = lookup(command).ok_or(RuleError::UnknownCommand)?;
            if spec.is_sub_command() {
                return Err(RuleError::FirstWordOfSubCommand);
            }
            if word.is_empty() {
                return Err(RuleError::Syntax);
            }
            if !spec.is_container() {
                self.add_first_word(spec, word);
                return Ok(());
            }
        }
        let spec = lookup(name).ok_or(RuleError::UnknownCommand)?;
        self.add(allows, spec.name, CommandSet::of_command(spec));
        Ok(())
    }

    fn add(&mut self, allows: bool, text: &str, covers: CommandSet) {
        self.allowed = change(self.allowed, allows, covers);
        let is_replaced = |earlier: &CommandRule| {
            *earlier.text == *text.as_bytes()
                || (!earlier.covers.is_empty() && earlier.covers.is_subset(&covers))
        };
        self.rules.retain(|earlier| !is_replaced(earlier));
        let has_effect = if covers.is_empty() {
            // A category of a type that is not served is listed where it would make a difference.
            allows != self.begins_with_all
        } else {
            self.replay() != self.allowed
        };
        if has_effect {
            self.rules.push(CommandRule {
                allows,
                text: Box::from(text.as_bytes()),
                covers,
                first_word: None,
            });
        }
        // What the rules begin with says the same as these.
        let needless = self.rules.iter().take_while(|rule| rule.allows == self.begins_with_all).count();
        self.rules.drain(..needless);
    }

    /// What the rules allow, first words aside.
    fn replay(&self) -> CommandSet {
        let begin = if self.begins_with_all { CommandSet::all() } else { CommandSet::default() };
        let rules = self.rules.iter().filter(|rule| rule.first_word.is_none());
        rules.fold(begin, |allowed, rule| change(allowed, rule.allows, rule.covers))
    }

    fn add_first_word(&mut self, spec: &'static Spec, word: &[u8]) {
        if self.allow(spec.id, word) {
            return;
        }
        self.rules.push(CommandRule {
            allows: true,
            text: [spec.name.as_bytes(), b"|", word].concat().into(),
            covers: CommandSet::of_row(spec),
            first_word: Some(FirstWord { id: spec.id, word: Box::from(word) }),
        });
    }

    /// Appends the rules as `ACL LIST` shows them.
    pub(super) fn describe(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(if self.begins_with_all { b"+@all" } else { b"-@all" });
        for rule in &self.rules {
            text.extend_from_slice(if rule.allows { b" +" } else { b" -" });
            text.extend_from_slice(&rule.text);
        }
    }
}

fn change(allowed: CommandSet, allows: bool, covers: CommandSet) -> CommandSet {
    if allows { allowed.union(covers) } else { allowed.without(covers) }
}

/// Finds `get` or `config|get`, in any case.
fn lookup(name: &[u8]) -> Option<&'static Spec> {
    match name.iter().position(|byte| *byte == b'|') {
        None => table::find(name),
        Some(bar) => {
            let container = table::find(&name[..bar]).filter(|spec| spec.is_container())?;
            table::find_sub_command(container, &name[bar + 1..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(line: &str) -> CommandRules {
        let mut rules = CommandRules::default();
        for rule in line.split_whitespace() {
            rules.apply(rule.starts_with('+'), &rule.as_bytes()[1..]).unwrap();
        }
        rules
    }

    fn describe(rules: &CommandRules) -> String {
        let mut text = Vec::new();
        rules.describe(&mut text);
        String::from_utf8(text).unwrap()
    }

    /// What redis-server 7.0.15 lists for the same rules.
    #[test]
    fn rules_are_listed_as_redis_lists_them() {
        for (given, listed) in [
            ("", "-@all"),
            ("+@all", "+@all"),
            ("+@all -get +get", "+@all"),
            ("-@all +get -get", "-@all"),
            ("+get -get", "-@all"),
            ("+GET +Config|Get", "-@all +get +config|get"),
            ("+@all -@all +@scripting", "-@all +@scripting"),
            ("+@string +@hash", "-@all +@string +@hash"),
            ("+@all -@dangerous -config|get", "+@all -@dangerous"),
            ("+config -config|set", "-@all +config -config|set"),
            ("+client|id +client|info", "-@all +client|id +client|info"),
            ("+select|0 +select|A", "-@all +select|0 +select|A"),
            ("+select|0 +select", "-@all +select"),
            ("+select|a +select|A", "-@all +select|a"),
            ("+@read +get", "-@all +@read"),
            ("+get -@read", "-@all"),
            ("+get +set -@fast", "-@all +set"),
            ("+get +select|0 -select", "-@all +get"),
            ("+multi +exec +discard +watch +unwatch +@transaction", "-@all +@transaction"),
            ("-@hash", "-@all"),
            ("+@all -@hash", "+@all -@hash"),
            ("+@all -@hash +@hash", "+@all"),
        ] {
            assert_eq!(describe(&rules(given)), listed, "{given}");
        }
    }

    /// Redis 7.0 lists `+@read -keys -sort_ro` for the first, in random order.
    #[test]
    fn rules_keep_their_order_where_redis_makes_up_others() {
        for line in ["-@all +@read -@dangerous", "-@all +@string -@fast", "-@all +multi +exec +watch"] {
            assert_eq!(describe(&rules(line)), line);
        }
    }

    #[test]
    fn what_is_listed_has_the_same_effect_when_it_is_given_again() {
        let words = "+@all -@all +@read -@read +@string -@fast +get -get +config -config +config|get -config|get \
                     +select|0 -select +select +@connection -@dangerous +@hash";
        let words: Vec<&str> = words.split(' ').collect();
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let line: Vec<&str> =
                (0..random.usize(1..8)).map(|_| words[random.usize(..words.len())]).collect();
            let given = rules(&line.join(" "));
            // Without normalization: each rule changes the set, and what it covers loses its first
            // words.
            let (mut allowed, mut select_0) = (CommandSet::default(), false);
            for rule in &line {
                let (allows, name) = (rule.starts_with('+'), &rule[1..]);
                let covers = match name {
                    "@all" => CommandSet::all(),
                    "select|0" => {
                        select_0 = true;
                        continue;
                    }
                    _ if name.starts_with('@') => {
                        CommandSet::of_category(category::find(&name.as_bytes()[1..]).unwrap())
                    }
                    _ => CommandSet::of_command(lookup(name.as_bytes()).unwrap()),
                };
                select_0 &= !covers.has(Id::Select);
                allowed = change(allowed, allows, covers);
            }
            assert_eq!(given.allowed, allowed, "{line:?}");
            assert_eq!(given.allow(Id::Select, b"0"), select_0 || allowed.has(Id::Select), "{line:?}");
            let again = rules(&describe(&given));
            assert_eq!(again.allowed, allowed, "{line:?}");
            assert_eq!(again.allow(Id::Select, b"0"), given.allow(Id::Select, b"0"), "{line:?}");
        }
    }

    #[test]
    fn wrong_rules_say_why() {
        for (rule, error) in [
            ("+nosuch", RuleError::UnknownCommand),
            ("-nosuch", RuleError::UnknownCommand),
            ("+", RuleError::UnknownCommand),
            ("+@nosuch", RuleError::UnknownCommand),
            ("+config|nosuch", RuleError::UnknownCommand),
            ("+nosuch|x", RuleError::UnknownCommand),
            ("-select|0", RuleError::UnknownCommand),
            ("+config|", RuleError::Syntax),
            ("+select|", RuleError::Syntax),
            ("+config|get|x", RuleError::FirstWordOfSubCommand),
            ("+select|0|1", RuleError::UnknownCommand),
        ] {
            let result = CommandRules::default().apply(rule.starts_with('+'), &rule.as_bytes()[1..]);
            assert_eq!(result, Err(error), "{rule}");
        }
    }

    #[test]
    fn a_first_word_allows_a_command_that_is_denied_without_it() {
        let rules = rules("+select|0 +get");
        assert!(rules.allow(Id::Select, b"0") && !rules.allow(Id::Select, b"1"));
        assert!(!rules.allow(Id::Select, b"") && rules.allow(Id::Get, b"k"));
    }
}
