//! Does a key match a glob-style pattern? `*`, `?`, `[a-z]`, `[^a]` and `\x`, as KEYS, SCAN and CONFIG GET promise.
//!
//! Redis's `stringmatchlen` recurses at each star, and a pattern such as `a*a*a*a*b` takes time exponential in its
//! stars. Here only the last star is ever tried again, which is enough, since an earlier star that gave its match up
//! could only repeat what a later one can also cover: the cost is bounded by pattern length × text length.
//! (Russ Cox, "Glob Matching Can Be Simple And Fast Too", <https://research.swtch.com/glob>.)
//!
//! A pattern and a key of 64 KiB each are still 4,294,967,296 steps, a second or more, and KEYS tries every key. So steps
//! are counted: those that a pattern needs that hardly ever steps back are free, and further ones come out of a budget.

/// Steps that the patterns of one command may take beyond the free ones. A step is one byte of a pattern looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget(pub(crate) u64);

/// The budget is used up; whether the text matches is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooCostly;

/// Free steps for each byte of a text, and bytes that are added to each text's length so that short ones may have classes.
const FREE_STEPS_PER_BYTE: u64 = 8;
const FREE_BYTES: u64 = 16;

/// Whether all of `text` matches `pattern`. As in Redis, no pattern but the empty one matches the
/// empty text.
///
/// # Errors
/// It takes more steps than are free for this text or left in `budget`.
pub(crate) fn matches(
    pattern: &[u8],
    text: &[u8],
    ignore_case: bool,
    budget: &mut Budget,
) -> Result<bool, TooCostly> {
    if text.is_empty() {
        return Ok(pattern.is_empty());
    }
    let free = FREE_STEPS_PER_BYTE * (text.len() as u64 + FREE_BYTES);
    let most = free.saturating_add(budget.0);
    let mut steps = 0;
    let answer = try_match(pattern, text, ignore_case, &mut steps, most);
    budget.0 = budget.0.saturating_sub(steps.saturating_sub(free));
    answer
}

fn try_match(
    pattern: &[u8],
    text: &[u8],
    ignore_case: bool,
    steps: &mut u64,
    most: u64,
) -> Result<bool, TooCostly> {
    let (mut at, mut seen) = (0, 0);
    // Where to go on when the text stops matching: behind the last star, with one more byte given to it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        *steps += 1;
        if *steps > most {
            return Err(TooCostly);
        }
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            retry = Some((at, seen));
            continue;
        }
        match (at < pattern.len(), text.get(seen)) {
            (false, None) => return Ok(true),
            (true, Some(&byte)) => {
                // A class is read no further than the steps reach: where it is cut, they are used up.
                let reach = usize::try_from(most - *steps).unwrap_or(usize::MAX).saturating_add(2);
                let rest = &pattern[at..];
                let (matched, width) = match_one(&rest[..rest.len().min(reach)], byte, ignore_case);
                *steps += width as u64 - 1;
                if *steps > most {
                    return Err(TooCostly);
                }
                if matched {
                    at += width;
                    seen += 1;
                    continue;
                }
            }
            // The text has ended before the pattern, and a longer star would only leave less of it.
            (true, None) => return Ok(false),
            (false, Some(_)) => {}
        }
        let Some((behind_star, given)) = retry else { return Ok(false) };
        retry = Some((behind_star, given + 1));
        at = behind_star;
        seen = given + 1;
    }
}

/// Matches one byte against the item at the start of `pattern`, which is not empty: whether it matches, and the item's
/// length.
fn match_one(pattern: &[u8], byte: u8, ignore_case: bool) -> (bool, usize) {
    let fold = |value: u8| if ignore_case { value.to_ascii_lowercase() } else { value };
    match pattern {
        [b'?', ..] => (true, 1),
        [b'[', class @ ..] => {
            let (matched, length) = match_class(class, fold(byte), fold);
            (matched, 1 + length)
        }
        [b'\\', escaped, ..] => (fold(*escaped) == fold(byte), 2),
        [literal, ..] => (fold(*literal) == fold(byte), 1),
        [] => (false, 1),
    }
}

/// Matches `byte` against the class that follows a `[`: whether it matches, and the class's length with its `]`.
/// A class that is never closed reaches to the end of the pattern, as in Redis.
fn match_class(class: &[u8], byte: u8, fold: impl Fn(u8) -> u8) -> (bool, usize) {
    let negated = class.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut matched = false;
    loop {
        match &class[at..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                matched |= fold(*escaped) == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                let (low, high) = (fold(*from).min(fold(*to)), fold(*from).max(fold(*to)));
                matched |= (low..=high).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                matched |= fold(*literal) == byte;
                at += 1;
            }
        }
    }
    (matched != negated, at)
}

#[cfg(test)]
#[path = "glob_test.rs"]
mod tests;
