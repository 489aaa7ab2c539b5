//! Of which version is a rival's part? As Cargo.lock says, so that no number is typed.

const LOCK: &str = include_str!("../../../Cargo.lock");

/// `crossbeam-skiplist 0.1.3`; the newest, where several are linked. The name alone where none is.
pub(crate) fn versioned(library: &str) -> String {
    let head = format!("name = \"{library}\"\nversion = \"");
    let found = LOCK.match_indices(&head).filter_map(|(at, _)| LOCK[at + head.len()..].split('"').next());
    let number =
        |version: &&str| -> Vec<u64> { version.split('.').filter_map(|part| part.parse().ok()).collect() };
    match found.max_by_key(number) {
        Some(version) => format!("{library} {version}"),
        None => library.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_named() {
        assert!(versioned("crossbeam-skiplist").starts_with("crossbeam-skiplist 0."));
        // lsm-tree brings an older one of its own.
        assert!(!versioned("quick_cache").starts_with("quick_cache 0.6."), "{}", versioned("quick_cache"));
        assert_eq!(versioned("no such library"), "no such library");
    }
}
