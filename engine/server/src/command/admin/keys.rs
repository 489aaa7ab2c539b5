//! Key specifications in replies: COMMAND INFO, COMMAND GETKEYS and GETKEYSANDFLAGS.

use plumbkv_resp::ReplyWriter;

use crate::command::args::Arguments;
use crate::command::key_spec::{KeyUse, has_keys, keys_of, uses};
use crate::command::table::{self, Spec};
use crate::command::{CommandError, Context};

/// Where the keys are, in the form that Redis 7.0 added beside the three numbers.
pub(super) fn specifications(reply: &mut ReplyWriter<'_>, spec: &Spec) {
    let (first, last, step) = spec.keys;
    if first == 0 {
        return reply.set(0);
    }
    let (of_first, of_second) = uses(spec);
    if of_first == of_second {
        reply.set(1);
        specification(reply, of_first, first, (last, step));
    } else {
        reply.set(2);
        specification(reply, of_first, first, (first, 1));
        specification(reply, of_second, last, (last, 1));
    }
}

fn specification(reply: &mut ReplyWriter<'_>, key_use: KeyUse, first: i64, (last, step): (i64, i64)) {
    reply.map(3);
    reply.bulk(b"flags");
    flags(reply, key_use);
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

fn flags(reply: &mut ReplyWriter<'_>, key_use: KeyUse) {
    reply.set(key_use.names.len());
    key_use.names.iter().for_each(|name| reply.simple(name));
}

/// Writes the keys of the request that `words` are, each with what is done with it where `with_flags` says so.
pub(super) fn answer(
    context: &mut Context<'_>,
    words: Arguments<'_>,
    with_flags: bool,
) -> Result<(), CommandError> {
    let words: Vec<&[u8]> = words.collect();
    let spec = table::find_of_request(&words).ok_or(CommandError::fixed("ERR Invalid command specified"))?;
    if !has_keys(spec) {
        return Err(CommandError::fixed("ERR The command has no key arguments"));
    }
    if !spec.accepts(words.len()) {
        return Err(CommandError::fixed("ERR Invalid number of arguments specified for command"));
    }
    let keys = keys_of(spec, &words[..]);
    let start = context.output.mark();
    context.reply().array(keys.clone().count());
    for (place, key_use) in keys {
        if with_flags {
            context.reply().array(2);
        }
        context.bulk(words[place])?;
        if with_flags {
            flags(&mut context.reply(), key_use);
        }
        context.check_length(start)?;
    }
    Ok(())
}
