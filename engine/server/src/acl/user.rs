//! Users: a name, passwords, and selectors that say what the user may do.

use std::sync::Arc;

use super::denied::Denied;
use super::password::PasswordHash;
use super::rule::RuleError;
use super::selector::Selector;
use crate::command::args::is;
use crate::command::glob;
use crate::command::key_spec::Words;
use crate::command::table::{Id, Spec};

/// The user of every connection that has not named another one.
pub(crate) const DEFAULT: &[u8] = b"default";

/// Memory that a rule or password is counted with besides its bytes, and a user or selector.
const RULE_BYTES: usize = 96;
const SELECTOR_BYTES: usize = 512;

/// A user as of one moment.
#[derive(Debug, Clone)]
pub(crate) struct User {
    name: Arc<[u8]>,
    is_on: bool,
    is_nopass: bool,
    /// Whether RESTORE is to check payloads, where that was said. It always does here.
    sanitizes: Option<bool>,
    passwords: Vec<PasswordHash>,
    root: Selector,
    /// Those in parentheses.
    selectors: Vec<Selector>,
}

impl User {
    /// A user who may do nothing.
    pub(crate) fn new(name: &[u8]) -> Self {
        Self {
            name: Arc::from(name),
            is_on: false,
            is_nopass: false,
            sanitizes: None,
            passwords: Vec::new(),
            root: Selector::default(),
            selectors: Vec::new(),
        }
    }

    /// The default user before anything is changed: all rights, no password.
    pub(super) fn default_user() -> Self {
        let mut user = Self::new(DEFAULT);
        user.root.commands.set_all(true);
        user.root.keys.set_all(true);
        user.root.channels.set_all(true);
        user.is_on = true;
        user.is_nopass = true;
        user
    }

    pub(crate) fn name(&self) -> &Arc<[u8]> {
        &self.name
    }

    pub(crate) fn is_default(&self) -> bool {
        *self.name == *DEFAULT
    }

    /// Whether any password is right.
    pub(crate) fn is_nopass(&self) -> bool {
        self.is_nopass
    }

    /// Whether a connection is this user without giving a password.
    pub(crate) fn is_open(&self) -> bool {
        self.is_nopass && self.is_on
    }

    /// Whether nothing is denied.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.all_selectors().any(Selector::is_all)
    }

    /// Replaces the passwords by one, or lets any be right.
    pub(super) fn set_password(&mut self, password: Option<&[u8]>) {
        self.passwords = password.map(PasswordHash::of).into_iter().collect();
        self.is_nopass = password.is_none();
    }

    /// Whether the user may log in with this password.
    pub(super) fn accepts(&self, password: &[u8]) -> bool {
        if !self.is_on {
            return false;
        }
        if self.is_nopass {
            return true;
        }
        let hash = PasswordHash::of(password);
        // All of them are compared, so that the time does not tell which one is right.
        self.passwords.iter().fold(false, |found, known| found | known.is(&hash))
    }

    /// Applies one rule of `ACL SETUSER`.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        match rule {
            [] => {}
            _ if is(rule, "on") => self.is_on = true,
            _ if is(rule, "off") => self.is_on = false,
            _ if is(rule, "sanitize-payload") => self.sanitizes = Some(true),
            _ if is(rule, "skip-sanitize-payload") => self.sanitizes = Some(false),
            _ if is(rule, "nopass") => self.set_password(None),
            _ if is(rule, "resetpass") => {
                self.passwords.clear();
                self.is_nopass = false;
            }
            [b'>', password @ ..] => self.add_password(PasswordHash::of(password)),
            [b'#', digits @ ..] => {
                self.add_password(PasswordHash::parse(digits).ok_or(RuleError::BadHash)?);
            }
            [b'<', password @ ..] => self.remove_password(&PasswordHash::of(password))?,
            [b'!', digits @ ..] => {
                self.remove_password(&PasswordHash::parse(digits).ok_or(RuleError::BadHash)?)?;
            }
            [b'(', rules @ .., b')'] => self.selectors.push(Selector::parse(rules)?),
            _ if is(rule, "clearselectors") => self.selectors.clear(),
            _ if is(rule, "reset") => {
                *self = Self { name: Arc::clone(&self.name), sanitizes: Some(true), ..Self::new(&[]) };
            }
            _ => self.root.apply(rule)?,
        }
        Ok(())
    }

    fn add_password(&mut self, hash: PasswordHash) {
        self.is_nopass = false;
        if !self.passwords.iter().any(|known| known.is(&hash)) {
            self.passwords.push(hash);
        }
    }

    fn remove_password(&mut self, hash: &PasswordHash) -> Result<(), RuleError> {
        let place = self.passwords.iter().position(|known| known.is(hash));
        self.passwords.remove(place.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// Whether the user may execute a request, and what is denied first where no selector allows
    /// it.
    pub(crate) fn check<W: Words + ?Sized>(
        &self,
        spec: &'static Spec,
        words: &W,
        budget: &mut glob::Budget,
    ) -> Result<(), Denied> {
        let mut reason = Denied::Command;
        for selector in self.all_selectors() {
            match selector.check(spec, words, budget) {
                Ok(()) => return Ok(()),
                // Of several keys the last one, as in Redis; a key rather than the command.
                Err(denied) => reason = reason.max(denied),
            }
        }
        Err(reason)
    }

    /// Whether the user may execute a command without keys.
    pub(crate) fn may_execute(&self, id: Id) -> bool {
        self.all_selectors().any(|selector| selector.commands.allow(id, b""))
    }

    fn all_selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.selectors)
    }

    /// Number of passwords, rules and selectors.
    pub(super) fn count(&self) -> usize {
        let rules: usize = self.all_selectors().map(Selector::count).sum();
        self.passwords.len() + self.selectors.len() + rules
    }

    /// Memory that the user is counted with.
    pub(super) fn bytes(&self) -> usize {
        let texts: usize = self.all_selectors().map(Selector::bytes).sum();
        self.name.len() + texts + self.count() * RULE_BYTES + (self.selectors.len() + 1) * SELECTOR_BYTES
    }

    /// The flags as `ACL LIST` and `ACL GETUSER` show them.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.is_on { "on" } else { "off" }];
        if self.is_nopass {
            flags.push("nopass");
        }
        match self.sanitizes {
            Some(true) => flags.push("sanitize-payload"),
            Some(false) => flags.push("skip-sanitize-payload"),
            None => {}
        }
        flags
    }

    /// The digests of the passwords, in hexadecimal digits.
    pub(crate) fn password_digests(&self) -> impl ExactSizeIterator<Item = String> {
        self.passwords.iter().map(PasswordHash::digits)
    }

    /// Commands, keys and channels as `ACL GETUSER` shows them: of the user itself, then of each
    /// selector.
    pub(crate) fn permissions(&self) -> impl Iterator<Item = [Vec<u8>; 3]> {
        self.all_selectors().map(|selector| {
            let [mut commands, mut keys, mut channels] = [Vec::new(), Vec::new(), Vec::new()];
            selector.commands.describe(&mut commands);
            selector.keys.describe(&mut keys);
            selector.channels.describe(&mut channels);
            [commands, keys, channels]
        })
    }

    /// The line of `ACL LIST`.
    pub(crate) fn describe(&self) -> Vec<u8> {
        let mut text = [b"user ", &*self.name, b" "].concat();
        for flag in self.flags() {
            text.extend_from_slice(flag.as_bytes());
            text.push(b' ');
        }
        for digits in self.password_digests() {
            text.push(b'#');
            text.extend_from_slice(digits.as_bytes());
            text.push(b' ');
        }
        self.root.describe(&mut text);
        for selector in &self.selectors {
            text.extend_from_slice(b" (");
            selector.describe(&mut text);
            text.push(b')');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table;

    fn user(rules: &str) -> User {
        let mut user = User::new(b"u");
        let words: Vec<&[u8]> = rules.split(' ').map(str::as_bytes).collect();
        for rule in crate::acl::rule::merge(&words).unwrap() {
            user.apply(&rule).unwrap_or_else(|error| panic!("{}: {error}", rule.escape_ascii()));
        }
        user
    }

    fn listed(user: &User) -> String {
        String::from_utf8(user.describe()).unwrap()
    }

    /// What redis-server 7.0.15 lists for the same rules.
    #[test]
    fn users_are_listed_as_redis_lists_them() {
        assert_eq!(listed(&User::default_user()), "user default on nopass ~* &* +@all");
        let digest = PasswordHash::of(b"a").digits();
        for (rules, expected) in [
            ("", "user u off resetchannels -@all".to_owned()),
            ("on nopass", "user u on nopass resetchannels -@all".to_owned()),
            ("reset", "user u off sanitize-payload resetchannels -@all".to_owned()),
            ("skip-sanitize-payload", "user u off skip-sanitize-payload resetchannels -@all".to_owned()),
            ("nopass >a >a", format!("user u off #{digest} resetchannels -@all")),
            ("nopass >a nopass", "user u off nopass resetchannels -@all".to_owned()),
            (">a nopass resetpass", "user u off resetchannels -@all".to_owned()),
            (">a <a", "user u off resetchannels -@all".to_owned()),
            (format!("#{digest} >b !{digest} <b").as_str(), "user u off resetchannels -@all".to_owned()),
            (
                "~x (~a +get &z) (~a +get %R~b ) ()",
                "user u off ~x resetchannels -@all (~a resetchannels &z -@all +get) \
                 (~a %R~b resetchannels -@all +get) (resetchannels -@all)"
                    .to_owned(),
            ),
            ("on +get ~a (+set) clearselectors", "user u on ~a resetchannels -@all +get".to_owned()),
        ] {
            assert_eq!(listed(&user(rules)), expected, "{rules}");
        }
    }

    #[test]
    fn wrong_rules_say_why() {
        for (rule, error) in [
            ("bad", RuleError::Syntax),
            ("<p", RuleError::NoSuchPassword),
            ("!abc", RuleError::BadHash),
            ("#abc", RuleError::BadHash),
            ("(on)", RuleError::Syntax),
            ("(+nosuch)", RuleError::UnknownCommand),
            (")", RuleError::Syntax),
        ] {
            assert_eq!(User::new(b"u").apply(rule.as_bytes()), Err(error), "{rule}");
        }
        assert_eq!(User::default_user().apply(b"~a"), Err(RuleError::AllKeys));
        assert_eq!(User::default_user().apply(b"&a"), Err(RuleError::AllChannels));
    }

    #[test]
    fn a_password_is_one_of_several() {
        let user = user("on >one >two");
        assert!(user.accepts(b"one") && user.accepts(b"two"));
        assert!(!user.accepts(b"three") && !user.accepts(b"") && !user.is_open());
        let mut off = user.clone();
        off.apply(b"off").unwrap();
        assert!(!off.accepts(b"one"));
        let mut any = user;
        any.apply(b"nopass").unwrap();
        assert!(any.accepts(b"whatever") && any.is_open());
        assert!(!User::new(b"u").accepts(b""), "without a password there is no way in");
    }

    fn check(user: &User, line: &str) -> Result<(), Denied> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        user.check(table::find_of_request(&words).unwrap(), &words[..], &mut glob::Budget(1000))
    }

    #[test]
    fn one_selector_has_to_allow_all_of_a_request() {
        let user = user("+get +mget ~a* +select|0 (+set %W~w*) (+@read %R~r*)");
        for line in [
            "get a",
            "mget a1 a2",
            "set w v",
            "get r",
            "mget r1 r2",
            "select 0",
            "exists r",
            "quit",
            "auth x",
            "hello",
        ] {
            assert_eq!(check(&user, line), Ok(()), "{line}");
        }
        for (line, denied) in [
            ("get x", Denied::Key(1)),
            ("set a v", Denied::Key(1)),
            ("set w v get", Denied::Key(1)),
            ("mget a1 r1", Denied::Key(2)),
            ("mget r1 a1", Denied::Key(2)),
            ("select 1", Denied::Command),
            ("del a", Denied::Command),
            ("ping", Denied::Command),
        ] {
            assert_eq!(check(&user, line), Err(denied), "{line}");
        }
    }
}
