//! Can any pattern, on any key, make the matcher panic, answer wrongly, or take more steps than it is given?
//!
//! The first byte is the pattern's length, the second the budget; then come the pattern and the key. The matcher is a
//! module of a binary, so its file is taken in as it is.
#![no_main]

#[path = "../../src/command/glob.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod glob;
#[path = "../../src/command/glob_reference.rs"]
mod reference;

use glob::{Budget, TooCostly, matches};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [length, budget, rest @ ..] = data else { return };
    let (pattern, text) = rest.split_at(rest.len().min(usize::from(*length)));
    let expected = reference::matches(pattern, text);
    let mut left = Budget(1 << 40);
    assert_eq!(matches(pattern, text, false, &mut left), Ok(expected));
    // No more than each byte of the pattern for each byte of the text, and once more for the ends.
    let spent = (1 << 40) - left.0;
    let bound = (pattern.len() as u64 + 2) * (text.len() as u64 + 2) * 2;
    assert!(spent <= bound, "{spent} steps, more than {bound}");
    // With less than it needs it says so, and never answers wrongly.
    let mut little = Budget(u64::from(*budget));
    match matches(pattern, text, false, &mut little) {
        Ok(answer) => assert!(answer == expected && spent <= u64::from(*budget)),
        Err(TooCostly) => assert!(spent > u64::from(*budget) && little.0 == 0),
    }
    // Case is folded in both; whether they match is what folding them first would say, unless a class or an escape
    // holds a range that folding changes.
    if !pattern.contains(&b'-') {
        let folded =
            matches(&pattern.to_ascii_lowercase(), &text.to_ascii_lowercase(), false, &mut Budget(1 << 40));
        assert_eq!(matches(pattern, text, true, &mut Budget(1 << 40)), folded);
    }
});
