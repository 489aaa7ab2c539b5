//! Access control lists (ACL): the categories of commands.

pub(crate) mod category;
