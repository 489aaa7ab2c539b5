//! Can any rules of `ACL SETUSER` make the server panic, or do they mean something else once `ACL LIST` has shown them?
//!
//! The input is a line of rules, a line feed, and lines of requests. The rules are modules of a binary, so their files
//! are taken in as they are.
#![no_main]
#![allow(dead_code, reason = "the server uses all of it")]
#![allow(clippy::all, reason = "checked where the files belong")]

#[path = "../../src/client_limits.rs"]
mod client_limits;
#[path = "../../src/units.rs"]
mod units;

mod databases {
    pub(crate) const COUNT: u8 = 16;
}

#[path = "../../src/command"]
mod command {
    pub(crate) mod args;
    pub(crate) mod error;
    pub(crate) mod glob;
    pub(crate) mod key_spec;
    pub(crate) mod table;

    pub(crate) use error::CommandError;
}

#[path = "../../src/acl"]
mod acl {
    pub(crate) mod category;
    mod command_set;
    mod commands;
    mod denied;
    mod password;
    mod patterns;
    mod rule;
    mod selector;
    mod user;

    use crate::command::{glob, table};
    use denied::Denied;
    use user::User;

    /// A user with the rules of a line; `None` where one of them is refused.
    fn user(line: &[u8]) -> Option<User> {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
        let mut user = User::new(b"u");
        for rule in rule::merge(&words).ok()? {
            user.apply(&rule).ok()?;
        }
        Some(user)
    }

    fn check(user: &User, line: &[u8]) -> Option<Result<(), Denied>> {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let spec = table::find_of_request(&words)?;
        spec.accepts(words.len()).then(|| user.check(spec, &words[..], &mut glob::Budget(1 << 20)))
    }

    pub(crate) fn try_line(data: &[u8]) {
        let mut lines = data.split(|byte| *byte == b'\n');
        let rules = lines.next().unwrap_or_default();
        let Some(first) = user(rules) else { return };
        let shown = first.describe();
        let is_all = first.is_unrestricted();
        // A selector with a pattern that ends with a parenthesis is shown as two words, in Redis as well.
        let mut again = None;
        if !rules.contains(&b')') {
            let listed = shown.strip_prefix(b"user u ").unwrap();
            let second = user(listed).unwrap_or_else(|| panic!("refused: {}", shown.escape_ascii()));
            assert_eq!(second.describe().escape_ascii().to_string(), shown.escape_ascii().to_string());
            assert_eq!(second.is_unrestricted(), is_all);
            again = Some(second);
        }
        for line in lines {
            let Some(decision) = check(&first, line) else { continue };
            assert!(!is_all || decision.is_ok(), "{}", line.escape_ascii());
            if let Some(again) = &again {
                assert_eq!(check(again, line), Some(decision), "{}", line.escape_ascii());
            }
        }
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| acl::try_line(data));
