//! LCS: the longest sequence of bytes that two values have in common, not necessarily side by side.

use std::ops::Range;

use super::args::{self, Arguments, is};
use super::range::Part;
use super::{CommandError, Context};

/// Fields of the table that a thread fills while other connections wait for it: about 1 ms.
const BESIDE: usize = 1 << 20;

/// What LCS was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Its length alone.
    wants_length: bool,
    /// Where it is.
    wants_places: bool,
    /// Shorter matches are left out of the places.
    least: usize,
    /// The lengths of the matches beside their places.
    with_lengths: bool,
}

impl Options {
    pub(super) fn parse(mut words: Arguments<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            if is(word, "IDX") {
                options.wants_places = true;
            } else if is(word, "LEN") {
                options.wants_length = true;
            } else if is(word, "WITHMATCHLEN") {
                options.with_lengths = true;
            } else if is(word, "MINMATCHLEN")
                && let Some(number) = words.next()
            {
                options.least = usize::try_from(args::integer(number)?).unwrap_or(0);
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        if options.wants_length && options.wants_places {
            return Err(CommandError::fixed(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }
}

/// The bytes of a place in both values that are the same.
#[derive(Debug, PartialEq, Eq)]
struct Match {
    one: Range<usize>,
    other: Range<usize>,
}

/// LCS.
pub(super) fn lcs(context: &mut Context<'_>, keys: [&[u8]; 2], options: Options) -> Result<(), CommandError> {
    let shared = context.shared;
    let fetch = |key| context.keys().fetch(key, Part::of);
    let (one, other) = (fetch(keys[0])?, fetch(keys[1])?);
    let (one, other) =
        (one.as_ref().map_or(&[][..], Part::bytes), other.as_ref().map_or(&[][..], Part::bytes));
    let fields = (one.len() + 1).checked_mul(other.len() + 1).ok_or(CommandError::OUT_OF_MEMORY)?;
    if fields > BESIDE && context.client.is_hasty {
        return Err(CommandError::WOULD_BLOCK);
    }
    let beside = (fields as u64).saturating_mul(size_of::<u32>() as u64);
    shared.client_memory.take(&shared.database, beside).map_err(|_| CommandError::OUT_OF_MEMORY)?;
    let table = Table::of(one, other);
    let result = answer(context, &table, options);
    drop(table);
    shared.client_memory.give_back(&shared.database, beside);
    result
}

fn answer(context: &mut Context<'_>, table: &Table<'_>, options: Options) -> Result<(), CommandError> {
    if options.wants_length {
        return context.integer(table.length() as i64);
    }
    let (sequence, mut matches) = table.walk();
    if !options.wants_places {
        return context.bulk(&sequence);
    }
    matches.retain(|found| found.one.len() >= options.least);
    /// Bytes of a match in the reply, at most.
    const MATCH_BYTES: usize = 160;
    context.output.make_room(context.shared, matches.len() * MATCH_BYTES)?;
    let length = sequence.len() as i64;
    let mut reply = context.reply();
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(matches.len());
    for Match { one, other } in &matches {
        reply.array(2 + usize::from(options.with_lengths));
        for range in [one, other] {
            reply.array(2);
            reply.integer(range.start as i64);
            reply.integer(range.end as i64 - 1);
        }
        if options.with_lengths {
            reply.integer(one.len() as i64);
        }
    }
    reply.bulk(b"len");
    reply.integer(length);
    Ok(())
}

/// For each pair of beginnings the length of what they have in common.
struct Table<'a> {
    one: &'a [u8],
    other: &'a [u8],
    lengths: Vec<u32>,
}

impl<'a> Table<'a> {
    fn of(one: &'a [u8], other: &'a [u8]) -> Self {
        let width = other.len() + 1;
        let mut lengths = vec![0; (one.len() + 1) * width];
        for (row, byte) in one.iter().enumerate() {
            let (above, below) = lengths.split_at_mut((row + 1) * width);
            let above = &above[row * width..];
            for (column, candidate) in other.iter().enumerate() {
                below[column + 1] =
                    if byte == candidate { above[column] + 1 } else { above[column + 1].max(below[column]) };
            }
        }
        Self { one, other, lengths }
    }

    /// Of the first `row` and `column` bytes.
    fn at(&self, row: usize, column: usize) -> u32 {
        self.lengths[row * (self.other.len() + 1) + column]
    }

    fn length(&self) -> usize {
        self.at(self.one.len(), self.other.len()) as usize
    }

    /// The sequence, and its matches from the last one to the first. Of several that are as long it is the one that Redis returns.
    fn walk(&self) -> (Vec<u8>, Vec<Match>) {
        let (mut row, mut column) = (self.one.len(), self.other.len());
        let mut sequence = Vec::with_capacity(self.length());
        let mut matches: Vec<Match> = Vec::new();
        // Whether the last match goes on.
        let mut is_open = false;
        while row > 0 && column > 0 {
            if self.one[row - 1] != self.other[column - 1] {
                is_open = false;
                if self.at(row - 1, column) > self.at(row, column - 1) {
                    row -= 1;
                } else {
                    column -= 1;
                }
                continue;
            }
            (row, column) = (row - 1, column - 1);
            sequence.push(self.one[row]);
            match matches.last_mut().filter(|_| is_open) {
                Some(last) => (last.one.start, last.other.start) = (row, column),
                None => matches.push(Match { one: row..row + 1, other: column..column + 1 }),
            }
            is_open = true;
        }
        sequence.reverse();
        (sequence, matches)
    }
}

#[cfg(test)]
mod tests {
    use crate::session::test_support::Driver;

    #[test]
    fn sequences_and_places_are_those_of_redis() {
        Driver::new().connect().check_all(
            "mset k1 ohmytext k2 mynewtext -> +OK|
             lcs k1 k2 -> $6|mytext|
             LCS k1 k2 LEN -> :6|
             lcs k1 k2 idx -> *4|$7|matches|*2|*2|*2|:4|:7|*2|:5|:8|*2|*2|:2|:3|*2|:0|:1|$3|len|:6|
             lcs k1 k2 idx minmatchlen 4 withmatchlen -> *4|$7|matches|*1|*3|*2|:4|:7|*2|:5|:8|:4|$3|len|:6|
             lcs k1 k2 idx minmatchlen -1 -> *4|$7|matches|*2|*2|*2|:4|:7|*2|:5|:8|*2|*2|:2|:3|*2|:0|:1|$3|len|:6|
             lcs k1 none -> $0||
             lcs none none2 idx -> *4|$7|matches|*0|$3|len|:0|
             lcs none none2 len -> :0|
             lcs k1 k2 withmatchlen -> $6|mytext|
             lcs k1 k2 idx len -> -ERR If you want both the length and indexes, please just use IDX.|
             lcs k1 k2 idx minmatchlen x -> -ERR value is not an integer or out of range|
             lcs k1 k2 minmatchlen -> -ERR syntax error|
             lcs k1 k2 foo -> -ERR syntax error|
             lcs k1 -> -ERR wrong number of arguments for 'lcs' command|",
        );
    }

    #[test]
    fn a_table_that_does_not_fit_is_refused_and_gives_its_memory_back() {
        let driver = Driver::with_options(|options| options, 8 << 20);
        let mut client = driver.connect();
        let long = "ab".repeat(2000);
        client.check(&format!("mset a {long} b {long}"), "+OK\r\n");
        client.check("lcs a b len", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
        client.check("setrange b 20 \"\"", ":4000\r\n");
        client.check("set b abba", "+OK\r\n");
        client.check("lcs a b len", ":4\r\n");
    }
}
