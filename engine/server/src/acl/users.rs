//! The table of users.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rule;
use super::user::{DEFAULT, User};
use crate::client_limits::Limit;
use crate::clients::Entry;
use crate::command::CommandError;
use crate::shared::Shared;

/// Bytes of a user's name.
const LONGEST_NAME: usize = 256;

/// Bytes of a rule.
const LONGEST_RULE: usize = 64 << 10;

/// Bytes of a password: a rule has one more.
pub(crate) const LONGEST_PASSWORD: usize = LONGEST_RULE - 1;

/// The users by name. There is always the default user.
#[derive(Debug)]
pub(crate) struct Users {
    // std Mutex: taken when a client connects or logs in, and when users change.
    by_name: Mutex<BTreeMap<Arc<[u8]>, Stored>>,
}

#[derive(Debug)]
struct Stored {
    user: Arc<User>,
    /// Bytes that are counted under the memory cap; none for the default user of the start.
    counted: u64,
}

impl Users {
    pub(super) fn new(password: Option<&str>) -> Self {
        let mut user = User::default_user();
        user.set_password(password.map(str::as_bytes));
        let default = Stored { user: Arc::new(user), counted: 0 };
        Self { by_name: Mutex::new(BTreeMap::from([(Arc::from(DEFAULT), default)])) }
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<Arc<[u8]>, Stored>> {
        // A user is replaced as a whole.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<Arc<User>> {
        self.by_name().get(name).map(|stored| Arc::clone(&stored.user))
    }

    /// The default user.
    pub(crate) fn default_user(&self) -> Arc<User> {
        self.get(DEFAULT).unwrap_or_else(|| Arc::new(User::new(DEFAULT)))
    }

    /// All users in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<User>> {
        self.by_name().values().map(|stored| Arc::clone(&stored.user)).collect()
    }

    /// Logs a connection in: the user, if there is one of that name who accepts the password.
    pub(crate) fn log_in(&self, entry: &Entry, name: &[u8], password: &[u8]) -> Option<Arc<User>> {
        let user = self.get(name)?;
        // No password is so long; not to hash it bounds the time.
        let is_too_long = password.len() > LONGEST_PASSWORD && !user.is_nopass();
        if is_too_long || !user.accepts(password) {
            return None;
        }
        // A user who was deleted meanwhile is not there any more; one who is deleted later is found
        // in the entry.
        let users = self.by_name();
        let user = &users.get(name)?.user;
        entry.set_user((!user.is_default()).then(|| Arc::clone(user.name())));
        Some(Arc::clone(user))
    }

    /// CONFIG SET requirepass: the only password of the default user, or none at all.
    pub(crate) fn set_password(&self, password: Option<&str>) {
        if let Some(stored) = self.by_name().get_mut(DEFAULT) {
            let mut user = (*stored.user).clone();
            user.set_password(password.map(str::as_bytes));
            stored.user = Arc::new(user);
        }
    }

    /// ACL SETUSER: applies all rules or none.
    ///
    /// # Errors
    /// A rule is wrong, a limit is exceeded, or there is no memory for the user.
    pub(crate) fn set(&self, shared: &Shared, name: &[u8], words: &[&[u8]]) -> Result<(), CommandError> {
        if rule::has_blanks(name) {
            return Err(CommandError::fixed("ERR Usernames can't contain spaces or null characters"));
        }
        if name.len() > LONGEST_NAME {
            return Err(CommandError::new(format!(
                "ERR Usernames can't be longer than {LONGEST_NAME} bytes"
            )));
        }
        let rules = rule::merge(words).map_err(|word| {
            CommandError::quoting("ERR Unmatched parenthesis in acl selector starting at '", word, "'.")
        })?;
        let mut users = self.by_name();
        let mut user = users.get(name).map_or_else(|| User::new(name), |stored| (*stored.user).clone());
        for rule in &rules {
            if rule.len() > LONGEST_RULE {
                return Err(CommandError::new(format!("ERR a rule is longer than {LONGEST_RULE} bytes")));
            }
            user.apply(rule).map_err(|reason| {
                CommandError::quoting("ERR Error in ACL SETUSER modifier '", rule, &format!("': {reason}"))
            })?;
        }
        let limits = &shared.settings.limits;
        let most = limits.count(Limit::AclRules);
        if user.count() > most {
            let name = Limit::AclRules.name();
            return Err(CommandError::new(format!(
                "ERR the user would have more rules than {name} ({most})"
            )));
        }
        let most = limits.count(Limit::AclUsers);
        if users.len() >= most && !users.contains_key(name) {
            let name = Limit::AclUsers.name();
            return Err(CommandError::new(format!("ERR there would be more users than {name} ({most})")));
        }
        let counted = user.bytes() as u64;
        shared.client_memory.take(&shared.database, counted).map_err(|_| CommandError::OUT_OF_MEMORY)?;
        let stored = Stored { user: Arc::new(user), counted };
        if let Some(replaced) = users.insert(Arc::from(name), stored) {
            shared.client_memory.give_back(&shared.database, replaced.counted);
        }
        drop(users);
        limits.announce();
        Ok(())
    }

    /// ACL DELUSER: deletes users, and ends all of their connections but `own`, which the caller
    /// ends behind its reply. Answers how many users there were.
    pub(crate) fn delete(&self, shared: &Shared, own: &Entry, names: &[&[u8]]) -> usize {
        let mut users = self.by_name();
        let mut deleted = BTreeSet::new();
        for &name in names {
            if let Some(stored) = users.remove(name) {
                shared.client_memory.give_back(&shared.database, stored.counted);
                deleted.insert(name);
            }
        }
        if deleted.is_empty() {
            return 0;
        }
        for entry in shared.clients.all() {
            if entry.id != own.id && entry.user_name().is_some_and(|name| deleted.contains(&*name)) {
                shared.clients.kill(&entry);
            }
        }
        drop(users);
        shared.settings.limits.announce();
        deleted.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    fn set(driver: &Driver, line: &str) -> Result<(), String> {
        let words: Vec<&[u8]> = line.split(',').map(str::as_bytes).collect();
        let result = driver.shared.acl.users.set(&driver.shared, words[0], &words[1..]);
        result.map_err(|error| String::from_utf8_lossy(error.text()).into_owned())
    }

    #[test]
    fn a_wrong_rule_changes_nothing() {
        let driver = Driver::new();
        set(&driver, "u,on,+get").unwrap();
        let before = driver.shared.acl.users.get(b"u").unwrap().describe();
        for (line, error) in [
            ("u,off,bad", "ERR Error in ACL SETUSER modifier 'bad': Syntax error"),
            ("u,off,(~a", "ERR Unmatched parenthesis in acl selector starting at '(~a'."),
            ("a b", "ERR Usernames can't contain spaces or null characters"),
            ("n".repeat(257).as_str(), "ERR Usernames can't be longer than 256 bytes"),
            (format!("u,off,>{}", "p".repeat(64 << 10)).as_str(), "ERR a rule is longer than 65536 bytes"),
        ] {
            assert_eq!(set(&driver, line), Err(error.to_owned()));
        }
        assert_eq!(driver.shared.acl.users.get(b"u").unwrap().describe(), before);
        assert_eq!(driver.shared.acl.users.all().len(), 2);
        set(&driver, &"n".repeat(256)).unwrap();
        set(&driver, &format!("u,>{}", "p".repeat(LONGEST_PASSWORD))).unwrap();
    }

    #[test]
    fn users_count_under_the_memory_cap_until_they_are_deleted() {
        let driver = Driver::new();
        let shared = &driver.shared;
        let used = || shared.client_memory.used(&shared.database);
        let own = shared.clients.add(String::new(), String::new(), 0, 0);
        let before = used();
        set(&driver, "u,on,>p,~a,+get").unwrap();
        let small = used();
        assert!(small >= before + 512);
        set(&driver, "u,~b,(~c,+set)").unwrap();
        assert!(used() > small);
        assert_eq!(shared.acl.users.delete(shared, &own, &[b"u", b"u", b"x"]), 1);
        assert_eq!(used(), before);
    }

    #[test]
    fn there_is_no_user_for_whom_there_is_no_memory() {
        let driver = Driver::with_options(|options| options.policy(plumbkv::Policy::NoEviction), 2 << 20);
        let database = &driver.shared.database;
        while database.set(&database.len().to_be_bytes(), &[1; 500]).is_ok() {}
        let refused = (0..1000).find_map(|number| set(&driver, &format!("user:{number},on")).err());
        assert_eq!(refused.unwrap(), "OOM command not allowed when used memory > 'maxmemory'.");
    }

    #[test]
    fn a_login_takes_the_user_and_a_password() {
        let driver = Driver::new();
        let shared = &driver.shared;
        set(&driver, "u,on,>p").unwrap();
        set(&driver, "any,on,nopass").unwrap();
        let entry = shared.clients.add(String::new(), String::new(), 0, 0);
        let log_in = |name: &str, password: &[u8]| {
            shared.acl.users.log_in(&entry, name.as_bytes(), password).is_some()
        };
        assert!(log_in("u", b"p") && log_in("any", b"x") && log_in("default", b""));
        assert!(log_in("any", &[b'x'; 100_000]));
        assert!(!log_in("u", b"x") && !log_in("nosuch", b"p") && !log_in("u", &[b'p'; 100_000]));
        assert!(entry.user_name().is_some_and(|name| &*name == b"any"));
    }
}
