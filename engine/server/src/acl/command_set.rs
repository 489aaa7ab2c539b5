//! Sets of commands: one bit for each row of the command table.

use super::category::Categories;
use crate::command::table::{COUNT, Id, SPECS, Spec};

const WORDS: usize = 4;

const _: () = assert!(COUNT <= WORDS * 64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CommandSet([u64; WORDS]);

impl CommandSet {
    /// Every command.
    pub(super) fn all() -> Self {
        Self::of(SPECS.iter())
    }

    /// One row of the table, without sub-commands.
    pub(super) fn of_row(spec: &'static Spec) -> Self {
        Self::of(std::iter::once(spec))
    }

    /// A command with its sub-commands.
    pub(super) fn of_command(spec: &'static Spec) -> Self {
        Self::of(std::iter::once(spec).chain(spec.sub_commands()))
    }

    /// The commands of a category. A container brings its sub-commands, whatever their categories.
    pub(super) fn of_category(index: usize) -> Self {
        let rows = SPECS.iter().filter(|spec| Categories::of(spec).has(index));
        rows.fold(Self::default(), |set, spec| set.union(Self::of_command(spec)))
    }

    fn of(rows: impl Iterator<Item = &'static Spec>) -> Self {
        let mut set = Self::default();
        for spec in rows {
            let id = spec.id as usize;
            set.0[id / 64] |= 1 << (id % 64);
        }
        set
    }

    pub(super) fn has(&self, id: Id) -> bool {
        let id = id as usize;
        (self.0[id / 64] >> (id % 64)) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, others)| own & !others == 0)
    }

    pub(super) fn union(&self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(super) fn without(&self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::category;
    use crate::command::table;

    #[test]
    fn a_container_has_its_sub_commands_and_a_category_its_commands() {
        let config = CommandSet::of_command(table::spec(Id::Config));
        assert!(config.has(Id::Config) && config.has(Id::ConfigGet) && !config.has(Id::Get));
        assert!(!CommandSet::of_row(table::spec(Id::Config)).has(Id::ConfigGet));
        let strings = CommandSet::of_category(category::find(b"string").unwrap());
        assert!(strings.has(Id::Get) && !strings.has(Id::Del));
        assert!(CommandSet::of_category(category::find(b"hash").unwrap()).is_empty());
        // ACL itself is @slow, and so is all of it.
        assert!(CommandSet::of_category(category::find(b"slow").unwrap()).has(Id::AclSetuser));
    }

    #[test]
    fn sets_are_joined_and_taken_apart() {
        let (all, get) = (CommandSet::all(), CommandSet::of_row(table::spec(Id::Get)));
        let rest = all.without(get);
        assert!(get.is_subset(&all) && !all.is_subset(&rest) && !rest.has(Id::Get));
        assert_eq!(rest.union(get), all);
        assert!(SPECS.iter().all(|spec| all.has(spec.id)));
    }
}
