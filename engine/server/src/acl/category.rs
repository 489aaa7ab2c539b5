//! Command categories: the groups that rules such as `+@read` name, as Redis 7.0 assigns them.

use crate::command::table::{Group, Id, Spec, flag};

/// The categories in Redis's order. Those about types that are not served contain no command.
pub(crate) static NAMES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

const KEYSPACE: u32 = 1;
const READ: u32 = 1 << 1;
const WRITE: u32 = 1 << 2;
const STRING: u32 = 1 << 7;
const ADMIN: u32 = 1 << 13;
const FAST: u32 = 1 << 14;
const SLOW: u32 = 1 << 15;
const DANGEROUS: u32 = 1 << 17;
const CONNECTION: u32 = 1 << 18;
const TRANSACTION: u32 = 1 << 19;
const SCRIPTING: u32 = 1 << 20;

/// The categories of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Categories(u32);

impl Categories {
    pub(crate) fn of(spec: &Spec) -> Self {
        let mut bits = family(spec) | if spec.has(flag::FAST) { FAST } else { SLOW };
        // The commands of a script are checked one by one, so reading is no property of EVAL_RO.
        if spec.has(flag::READONLY) && spec.group != Group::Scripting {
            bits |= READ;
        }
        if spec.has(flag::WRITE) {
            bits |= WRITE;
        }
        if spec.has(flag::ADMIN) {
            bits |= ADMIN | DANGEROUS;
        }
        if spec.has(flag::DANGEROUS) {
            bits |= DANGEROUS;
        }
        Self(bits)
    }

    /// Whether the category at `index` of [`NAMES`] is one of them.
    pub(crate) fn has(self, index: usize) -> bool {
        (self.0 >> index) & 1 == 1
    }

    /// The names in Redis's order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().enumerate().filter(move |(index, _)| self.has(*index)).map(|(_, name)| *name)
    }
}

/// The category of the command's family. A container that is no command itself has none.
fn family(spec: &Spec) -> u32 {
    match spec.id {
        Id::Command => return CONNECTION,
        Id::Dbsize | Id::Flushall | Id::Flushdb | Id::Swapdb => return KEYSPACE,
        _ if spec.is_container() => return 0,
        _ if spec.name.starts_with("command|") => return CONNECTION,
        _ => {}
    }
    match spec.group {
        Group::Connection => CONNECTION,
        Group::Server => 0,
        Group::String => STRING,
        Group::Generic => KEYSPACE,
        Group::Transactions => TRANSACTION,
        Group::Scripting => SCRIPTING,
    }
}

/// The index of a category in [`NAMES`], by its name in any case.
pub(crate) fn find(name: &[u8]) -> Option<usize> {
    NAMES.iter().position(|category| category.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table;

    fn categories(name: &str) -> String {
        let spec = table::find_full(name.as_bytes()).unwrap();
        Categories::of(spec).names().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_bit_has_the_name_of_its_place() {
        for (bit, name) in [
            (KEYSPACE, "keyspace"),
            (READ, "read"),
            (WRITE, "write"),
            (STRING, "string"),
            (ADMIN, "admin"),
            (FAST, "fast"),
            (SLOW, "slow"),
            (DANGEROUS, "dangerous"),
            (CONNECTION, "connection"),
            (TRANSACTION, "transaction"),
            (SCRIPTING, "scripting"),
        ] {
            assert_eq!(NAMES[bit.trailing_zeros() as usize], name);
        }
        assert_eq!(find(b"Scripting"), Some(20));
        assert_eq!(find(b"all"), None);
    }

    /// What redis-server 7.0.15 answers; the wire tests compare every command.
    #[test]
    fn commands_have_the_categories_of_redis() {
        for (name, expected) in [
            ("get", "read string fast"),
            ("set", "write string slow"),
            ("dbsize", "keyspace read fast"),
            ("flushall", "keyspace write slow dangerous"),
            ("keys", "keyspace read slow dangerous"),
            ("object", "slow"),
            ("object|encoding", "keyspace read slow"),
            ("object|help", "keyspace slow"),
            ("memory|usage", "read slow"),
            ("config", "slow"),
            ("config|get", "admin slow dangerous"),
            ("config|help", "slow"),
            ("command", "slow connection"),
            ("command|docs", "slow connection"),
            ("client", "slow"),
            ("client|id", "slow connection"),
            ("client|kill", "admin slow dangerous connection"),
            ("info", "slow dangerous"),
            ("role", "admin fast dangerous"),
            ("watch", "fast transaction"),
            ("eval_ro", "slow scripting"),
            ("script", "slow"),
            ("script|kill", "slow scripting"),
            ("acl|setuser", "admin slow dangerous"),
            ("acl|whoami", "slow"),
            ("wait", "slow connection"),
            ("time", "fast"),
        ] {
            assert_eq!(categories(name), expected, "{name}");
        }
    }
}
