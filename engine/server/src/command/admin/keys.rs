//! Key specifications, COMMAND GETKEYS and GETKEYSANDFLAGS: the keys of a request, and how the command uses them.

use plumbkv_resp::ReplyWriter;

use crate::command::args::{self, Arguments, is};
use crate::command::table::{self, Id, Spec, flag};
use crate::command::{CommandError, Context};

type Flags = &'static [&'static str];

const READ: Flags = &["RO", "access"];
const LOOK: Flags = &["RO"];
const CHANGE: Flags = &["RW", "access", "update"];
const UPDATE: Flags = &["RW", "update"];
const OVERWRITE: Flags = &["OW", "update"];
const INSERT: Flags = &["OW", "insert"];
const TAKE: Flags = &["RW", "access", "delete"];

/// What a command does with its first key, and with those behind it, in Redis's words.
fn access(spec: &Spec) -> (Flags, Flags) {
    let first = match spec.id {
        Id::Set => &["RW", "access", "update", "variable_flags"],
        Id::Getset | Id::Getex | Id::Incr | Id::Decr | Id::Incrby | Id::Decrby | Id::Incrbyfloat => CHANGE,
        Id::Mset | Id::Setex | Id::Psetex | Id::Restore => OVERWRITE,
        Id::Setnx | Id::Msetnx => INSERT,
        Id::Append => &["RW", "insert"],
        Id::Getdel | Id::Rename | Id::Renamenx => TAKE,
        Id::Del | Id::Unlink => &["RM", "delete"],
        Id::Exists | Id::Touch | Id::Type | Id::Strlen | Id::Watch | Id::MemoryUsage => LOOK,
        Id::ObjectEncoding | Id::ObjectRefcount => LOOK,
        _ if spec.has(flag::READONLY) || spec.id == Id::Copy => READ,
        _ => UPDATE,
    };
    let second = match spec.id {
        Id::Rename | Id::Copy => OVERWRITE,
        Id::Renamenx => INSERT,
        _ => first,
    };
    (first, second)
}

/// Where the keys are, in the form that Redis 7.0 added beside the three numbers.
pub(super) fn specifications(reply: &mut ReplyWriter<'_>, spec: &Spec) {
    let (first, last, step) = spec.keys;
    if first == 0 {
        return reply.set(0);
    }
    let (of_first, of_second) = access(spec);
    if of_first == of_second {
        reply.set(1);
        specification(reply, of_first, first, (last, step));
    } else {
        reply.set(2);
        specification(reply, of_first, first, (first, 1));
        specification(reply, of_second, last, (last, 1));
    }
}

fn specification(reply: &mut ReplyWriter<'_>, flags: Flags, first: i64, (last, step): (i64, i64)) {
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|name| reply.simple(name));
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"index");
    reply.bulk(b"spec");
    reply.map(1);
    reply.bulk(b"index");
    reply.integer(first);
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"range");
    reply.bulk(b"spec");
    reply.map(3);
    reply.bulk(b"lastkey");
    // Counted from the first key, where `keys` counts from the name.
    reply.integer(if last > 0 { last - first } else { last });
    reply.bulk(b"keystep");
    reply.integer(step);
    reply.bulk(b"limit");
    reply.integer(0);
}

/// Writes the keys of the request that `words` are, each with what is done with it where `with_flags` says so.
pub(super) fn answer(
    context: &mut Context<'_>,
    words: Arguments<'_>,
    with_flags: bool,
) -> Result<(), CommandError> {
    let words: Vec<&[u8]> = words.collect();
    let spec = find(&words).ok_or(CommandError::fixed("ERR Invalid command specified"))?;
    let (first, last, step) = spec.keys;
    let is_script = matches!(spec.id, Id::Eval | Id::EvalRo | Id::Evalsha | Id::EvalshaRo);
    if first == 0 && !is_script {
        return Err(CommandError::fixed("ERR The command has no key arguments"));
    }
    if !spec.accepts(words.len()) {
        return Err(CommandError::fixed("ERR Invalid number of arguments specified for command"));
    }
    // Above zero, and words: the table says so.
    let place = |number: i64| if number < 0 { words.len() as i64 + number } else { number } as usize;
    let places = || (place(first)..=place(last)).step_by(step.max(1) as usize);
    let (keys, (of_first, of_second)) = match spec.id {
        _ if is_script => of_script(spec, &words),
        Id::Set if words[3..].iter().any(|word| is(word, "GET")) => (vec![words[1]], (CHANGE, CHANGE)),
        Id::Set => (vec![words[1]], (OVERWRITE, OVERWRITE)),
        _ => (places().filter_map(|place| words.get(place).copied()).collect(), access(spec)),
    };
    let start = context.output.mark();
    context.reply().array(keys.len());
    for (number, key) in keys.into_iter().enumerate() {
        if with_flags {
            context.reply().array(2);
        }
        context.bulk(key)?;
        if with_flags {
            let flags = if number == 0 { of_first } else { of_second };
            let mut reply = context.reply();
            reply.set(flags.len());
            flags.iter().for_each(|name| reply.simple(name));
        }
        context.check_length(start)?;
    }
    Ok(())
}

/// The keys of a script. `atoi` reads a number that is not written as an integer, and such keys have
/// no flags, as in Redis. There are none where the number is not that of words.
fn of_script<'w>(spec: &Spec, words: &[&'w [u8]]) -> (Vec<&'w [u8]>, (Flags, Flags)) {
    const NUMBER: usize = 2;
    let rest = &words[NUMBER + 1..];
    let fits = |count: &i32| usize::try_from(*count).is_ok_and(|count| (1..=rest.len()).contains(&count));
    // Both keep the low 32 bits.
    let written = args::parse_integer(words[NUMBER]).map(|number| number as i32).filter(fits);
    let count = written.unwrap_or_else(|| atoi(words[NUMBER]));
    let keys = if fits(&count) { rest[..count as usize].to_vec() } else { Vec::new() };
    let flags: Flags = match written {
        None => &[],
        Some(_) if spec.has(flag::READONLY) => READ,
        Some(_) => CHANGE,
    };
    (keys, (flags, flags))
}

/// An integer as C's `atoi` reads it: blanks, a sign, and digits up to what is none.
fn atoi(word: &[u8]) -> i32 {
    let blanks = word.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let (is_negative, digits) = match &word[blanks..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        let digit = if is_negative { -digit } else { digit };
        number.saturating_mul(10).saturating_add(digit)
    });
    number as i32
}

fn find(words: &[&[u8]]) -> Option<&'static Spec> {
    let spec = table::find(words.first()?)?;
    match words.get(1) {
        Some(sub) if spec.is_container() => table::find_sub_command(spec, sub),
        _ => Some(spec),
    }
}
