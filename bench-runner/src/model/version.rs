//! Order of version numbers: `0.10.0` after `0.9.0`, a release after its pre-releases.

/// The key by which versions are sorted.
#[must_use]
pub fn version_key(version: &str) -> (Vec<u64>, bool, String) {
    let (numbers, pre) = version.split_once('-').unwrap_or((version, ""));
    let numbers = numbers.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect();
    (numbers, pre.is_empty(), pre.to_owned())
}
