//! Which keys match, as Redis documents it, as a slower matcher says, and within how many steps.

use super::*;

#[path = "glob_reference.rs"]
mod reference;

const PLENTY: Budget = Budget(u64::MAX);

fn check(pattern: &str, text: &str, expected: bool) {
    let (pattern_bytes, text_bytes) = (pattern.as_bytes(), text.as_bytes());
    let answer = matches(pattern_bytes, text_bytes, false, &mut Budget(0));
    assert_eq!(answer, Ok(expected), "{pattern:?} on {text:?}");
    assert_eq!(reference::matches(pattern_bytes, text_bytes), expected, "{pattern:?} on {text:?}");
}

#[test]
fn patterns_match_as_redis_documents_them() {
    check("*", "", false);
    check("**", "", false);
    check("", "", true);
    check("", "a", false);
    check("h?llo", "hello", true);
    check("h?llo", "hllo", false);
    check("h*llo", "hllo", true);
    check("h*llo", "heeeello", true);
    check("h[ae]llo", "hallo", true);
    check("h[ae]llo", "hillo", false);
    check("h[^e]llo", "hallo", true);
    check("h[^e]llo", "hello", false);
    check("h[a-b]llo", "hbllo", true);
    check("h[b-a]llo", "hallo", true);
    check("h\\*llo", "h*llo", true);
    check("h\\*llo", "hello", false);
    check("*a*b", "xaxxb", true);
    check("*ab", "aab", true);
    check("a*b?c", "axxbyc", true);
    check("[", "[", false);
    check("[abc", "b", true);
    check("\\", "\\", true);
    check("a**b", "ab", true);
}

#[test]
fn case_is_ignored_only_when_asked() {
    let ignoring = |pattern: &[u8], text: &[u8]| matches(pattern, text, true, &mut Budget(0));
    assert_eq!(ignoring(b"MaxMem*", b"maxmemory-policy"), Ok(true));
    assert_eq!(ignoring(b"[A-C]x", b"bX"), Ok(true));
    assert_eq!(matches(b"MaxMem*", b"maxmemory-policy", false, &mut Budget(0)), Ok(false));
}

#[test]
fn the_answer_is_that_of_a_table_of_all_prefixes() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut matched = 0;
    for _ in 0..200_000 {
        let pattern: Vec<u8> =
            (0..random.usize(..9)).map(|_| *random.choice(b"ab*?[]^-\\").unwrap_or(&b'a')).collect();
        let text: Vec<u8> =
            (0..random.usize(..9)).map(|_| *random.choice(b"ab]-^").unwrap_or(&b'a')).collect();
        let expected = reference::matches(&pattern, &text);
        matched += u32::from(expected);
        let shown = (pattern.escape_ascii(), text.escape_ascii());
        assert_eq!(
            matches(&pattern, &text, false, &mut PLENTY.clone()),
            Ok(expected),
            "{} on {}",
            shown.0,
            shown.1
        );
    }
    assert!(matched > 5_000, "only {matched} patterns matched");
}

#[test]
fn many_stars_cost_no_more_than_pattern_times_text() {
    let pattern = b"a*".repeat(2_000);
    let text = b"a".repeat(1_999);
    // Exponential for a matcher that recurses at each star.
    assert_eq!(matches(&pattern, &text, false, &mut Budget(0)), Ok(false));
    let text = b"a".repeat(20_000);
    assert_eq!(matches(&[&pattern[..], b"b"].concat(), &text, false, &mut Budget(0)), Ok(false));
}

/// A pattern that steps back at every byte, on a text on which it takes exactly 65 steps for each byte but the last.
fn stepping_back() -> (Vec<u8>, Vec<u8>) {
    ([b"*", &b"a".repeat(64)[..], b"b"].concat(), b"a".repeat(1_000))
}

#[test]
fn the_budget_is_used_up_to_its_last_step_and_no_further() {
    let (pattern, text) = stepping_back();
    let mut plenty = Budget(1 << 40);
    assert_eq!(matches(&pattern, &text, false, &mut plenty), Ok(false));
    let needed = (1 << 40) - plenty.0;
    assert!(needed > 50_000, "{needed}");
    let mut enough = Budget(needed);
    assert_eq!((matches(&pattern, &text, false, &mut enough), enough.0), (Ok(false), 0));
    let mut short = Budget(needed - 1);
    assert_eq!((matches(&pattern, &text, false, &mut short), short.0), (Err(TooCostly), 0));
}

#[test]
fn one_budget_is_for_all_texts_of_a_command() {
    let (pattern, text) = stepping_back();
    let mut budget = Budget(200_000);
    let answers: Vec<_> = (0..6).map(|_| matches(&pattern, &text, false, &mut budget)).collect();
    assert_eq!(answers[..3], [Ok(false); 3]);
    assert_eq!(answers[5], Err(TooCostly));
    // What steps back hardly ever goes on.
    assert_eq!(matches(b"*user:[0-9]*", b"x:user:1", false, &mut budget), Ok(true));
}

#[test]
fn a_class_that_is_longer_than_the_budget_is_not_read_to_its_end() {
    let pattern = [b"[", &b"x".repeat(100 << 20)[..], b"]"].concat();
    // CPU time, to which other programs add nothing.
    let cpu_seconds = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
    let started = cpu_seconds();
    for _ in 0..100 {
        assert_eq!(matches(&pattern, b"y", false, &mut Budget(1_000)), Err(TooCostly));
    }
    assert!(cpu_seconds() - started < 2);
    let whole = [b"[", &b"x".repeat(1_000)[..], b"y]"].concat();
    let mut budget = Budget(1_003 - FREE_STEPS_PER_BYTE * (1 + FREE_BYTES) + 1);
    assert_eq!((matches(&whole, b"y", false, &mut budget), budget.0), (Ok(true), 0));
}
