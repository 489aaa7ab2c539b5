//! Forms of commands: which arguments a command takes, in which order.
//!
//! `COMMAND DOCS` answers them, and the pages about commands print them. Names and structure are
//! those of Redis 7.0, because programs derive prompts and checks from them. Each form is one
//! string ([`forms`]) of arguments between spaces:
//!
//! | notation | meaning |
//! | --- | --- |
//! | `name`, `name:type` | an argument; a string, or of one of [`TYPES`] |
//! | `WORD` | this word itself |
//! | `WORD=argument` | the word, then the argument |
//! | `name(a \| b)` | one of several |
//! | `name{a b}` | all of several, in this order |
//! | `[argument]` | may be left out |
//! | `argument...` | once or more; `*...` repeats its word each time |
//! | `argument#1` | a key that the second key specification describes; of the first without it |
//! | `argument@6.2.0`, `argument!6.2.0` | since this version; discouraged since this version |

mod forms;

use super::table::Spec;

/// One argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    /// Redis's name; that of a word is the word.
    pub(crate) name: &'static str,
    /// What it consists of.
    pub(crate) kind: Kind,
    /// The word before it, or the word that it is.
    pub(crate) token: Option<&'static str>,
    /// Index of the key specification, of a key.
    pub(crate) key_specification: usize,
    /// First version of Redis that has it, where this is not the command's.
    pub(crate) since: Option<&'static str>,
    /// Version of Redis that discourages it.
    pub(crate) deprecated_since: Option<&'static str>,
    /// May be left out.
    pub(crate) is_optional: bool,
    /// How often it may be given.
    pub(crate) repeats: Repeats,
}

/// What an argument consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word of a type, under Redis's name.
    Value(&'static str),
    /// The token itself.
    Token,
    /// One of several.
    OneOf(Vec<Argument>),
    /// All of several.
    Block(Vec<Argument>),
}

/// How often an argument may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Once.
    No,
    /// Once or more.
    Yes,
    /// Once or more, each time with its token.
    WithToken,
}

/// Types of values, under Redis's names. A string needs no type in the notation.
const TYPES: [&str; 6] = ["key", "integer", "double", "pattern", "unix-time", "string"];

impl Kind {
    /// Redis's name of the type.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Value(name) => name,
            Self::Token => "pure-token",
            Self::OneOf(_) => "oneof",
            Self::Block(_) => "block",
        }
    }

    /// The arguments inside.
    pub(crate) fn inner(&self) -> &[Argument] {
        match self {
            Self::OneOf(list) | Self::Block(list) => list,
            Self::Value(_) | Self::Token => &[],
        }
    }
}

/// The arguments of a command.
pub(crate) fn arguments(spec: &Spec) -> Vec<Argument> {
    Reader(forms::form(spec.id)).list()
}

/// What is left of a form.
struct Reader(&'static str);

impl Reader {
    fn list(&mut self) -> Vec<Argument> {
        let mut list = Vec::new();
        loop {
            self.0 = self.0.trim_start_matches([' ', '|']);
            if self.0.is_empty() || self.0.starts_with([']', ')', '}']) {
                return list;
            }
            let before = self.0.len();
            list.push(self.argument());
            if self.0.len() == before {
                // Nothing that the notation knows; the tests read every form.
                self.0 = "";
            }
        }
    }

    fn list_until(&mut self, end: &str) -> Vec<Argument> {
        let list = self.list();
        self.skip(end);
        list
    }

    fn argument(&mut self) -> Argument {
        let is_optional = self.skip("[");
        let mut argument = self.required();
        argument.is_optional = is_optional;
        if is_optional {
            self.skip("]");
        }
        argument
    }

    fn required(&mut self) -> Argument {
        let word = self.word();
        let (token, word) = if self.skip("=") { (Some(word), self.word()) } else { (None, word) };
        let (name, kind) = if self.skip("(") {
            (word, Kind::OneOf(self.list_until(")")))
        } else if self.skip("{") {
            (word, Kind::Block(self.list_until("}")))
        } else if token.is_none() && word.bytes().all(|byte| byte.is_ascii_uppercase()) {
            (word, Kind::Token)
        } else {
            match word.rsplit_once(':') {
                Some((name, kind)) if TYPES.contains(&kind) => (name, Kind::Value(kind)),
                _ => (word, Kind::Value("string")),
            }
        };
        let token = if kind == Kind::Token { Some(name) } else { token };
        let repeats = match () {
            () if self.skip("*...") => Repeats::WithToken,
            () if self.skip("...") => Repeats::Yes,
            () => Repeats::No,
        };
        Argument {
            name,
            kind,
            token,
            key_specification: usize::from(self.skip("#1")),
            since: self.skip("@").then(|| self.version()),
            deprecated_since: self.skip("!").then(|| self.version()),
            is_optional: false,
            repeats,
        }
    }

    fn skip(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn word(&mut self) -> &'static str {
        self.take(|letter| !" |[](){}=*.#@!".contains(letter))
    }

    fn version(&mut self) -> &'static str {
        self.take(|letter| letter.is_ascii_digit() || letter == '.')
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'static str {
        let (taken, rest) = self.0.split_at(self.0.find(|letter| !belongs(letter)).unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }
}

#[cfg(test)]
#[path = "syntax_test.rs"]
pub(crate) mod tests;
