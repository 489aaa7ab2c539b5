//! What must the matcher answer? The same question by a table of all prefixes: slow, and simple enough to be believed.
//!
//! Shared by the unit tests and the fuzz target.

/// One item of a pattern.
enum Item {
    Star,
    /// For each byte whether it matches.
    One(Box<[bool; 256]>),
}

fn items(mut pattern: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    while let [first, rest @ ..] = pattern {
        let mut set = Box::new([false; 256]);
        pattern = match (first, rest) {
            (b'*', _) => {
                items.push(Item::Star);
                pattern = rest;
                continue;
            }
            (b'?', _) => {
                set.fill(true);
                rest
            }
            (b'\\', [escaped, rest @ ..]) => {
                set[usize::from(*escaped)] = true;
                rest
            }
            (b'[', _) => class(rest, &mut set),
            (literal, _) => {
                set[usize::from(*literal)] = true;
                rest
            }
        };
        items.push(Item::One(set));
    }
    items
}

/// Reads a class into `set` and returns what follows it.
fn class<'p>(mut rest: &'p [u8], set: &mut [bool; 256]) -> &'p [u8] {
    let negated = rest.first() == Some(&b'^');
    if negated {
        rest = &rest[1..];
    }
    loop {
        rest = match rest {
            [] => break,
            [b']', tail @ ..] => {
                rest = tail;
                break;
            }
            [b'\\', escaped, tail @ ..] => {
                set[usize::from(*escaped)] = true;
                tail
            }
            [from, b'-', to, tail @ ..] => {
                let (low, high) = (*from.min(to), *from.max(to));
                for byte in low..=high {
                    set[usize::from(byte)] = true;
                }
                tail
            }
            [literal, tail @ ..] => {
                set[usize::from(*literal)] = true;
                tail
            }
        };
    }
    if negated {
        set.iter_mut().for_each(|member| *member = !*member);
    }
    rest
}

/// Whether all of `text` matches `pattern`, case and all.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    // reached[n]: the items so far match the first n bytes.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for item in items(pattern) {
        let mut next = vec![false; text.len() + 1];
        match item {
            Item::Star => {
                let mut any = false;
                for (place, &before) in next.iter_mut().zip(&reached) {
                    any |= before;
                    *place = any;
                }
            }
            Item::One(set) => {
                for (index, &byte) in text.iter().enumerate() {
                    next[index + 1] = reached[index] && set[usize::from(byte)];
                }
            }
        }
        reached = next;
    }
    reached[text.len()]
}
