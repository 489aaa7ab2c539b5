//! How does the prompt behave? It keeps history, explains commands, and comes back after a lost connection.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use plumbkv_resp::Reply;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::{ColorMode, DefaultEditor};

use super::connection::{Address, Connection, Greeting};
use super::format::{self, Style};

const HELP: &str = "\
Type a command and its arguments; quote what holds spaces.

  set greeting \"hello, world\"     store a value           ->  OK
  get greeting                    read it                 ->  \"hello, world\"
  set token abc EX 60             store it for 60 s;      ttl token  tells how long is left
  incr visits                     count                   ->  (integer) 1
  mget greeting visits            many at once
  del greeting                    remove it               ->  (integer) 1
  scan 0 match vis* count 100     walk the keys a piece at a time (repeat with the cursor it returns)
  info memory                     memory used, and the cap

  help COMMAND    what one command does, as the server describes it
  clear           empty the screen
  quit, Ctrl-D    leave

Inside \"...\": \\n \\r \\t \\a \\b \\\\ \\\" and \\xHH for any byte. Inside '...': only \\'.
(nil) means no value, (integer) a number, \"...\" a string of bytes, (error) an error reply.
";

/// Runs the prompt until it is left.
pub(super) fn prompt(address: &Address, greeting: &Greeting, style: Style) -> anyhow::Result<()> {
    let mut editor = DefaultEditor::new()?;
    if !style.colour {
        editor.set_color_mode(ColorMode::Disabled);
    }
    editor.set_max_history_size(10_000)?;
    let history = history_file();
    if let Some(path) = &history {
        // None yet at the first start, and a prompt without history is better than no prompt.
        let _ = editor.load_history(path);
    }
    // The first connection must work: a wrong address is found out before anything is typed.
    let mut connection = Some(Connection::open(address, greeting)?);
    println!("Connected to {address}. `help` explains, Ctrl-D leaves.");
    loop {
        let sign = if connection.is_some() {
            format!("{address}> ")
        } else {
            format!("{address} (not connected)> ")
        };
        let line = match editor.readline(&sign) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let words = match super::split(line.as_bytes()) {
            Ok(words) => words,
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        };
        if words.is_empty() {
            continue;
        }
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        if !holds_password(&words) {
            editor.add_history_entry(line.as_str())?;
            if let Some(path) = &history {
                // Saved at once, so that a closed terminal loses nothing; not being able to is no reason to stop.
                let _ = editor.append_history(path).or_else(|_| editor.save_history(path));
            }
        }
        match words[0].to_ascii_lowercase().as_slice() {
            b"quit" | b"exit" => return Ok(()),
            b"clear" => {
                editor.clear_screen()?;
                continue;
            }
            b"help" | b"?" if words.len() == 1 => {
                print!("{HELP}");
                continue;
            }
            _ => {}
        }
        if connection.is_none() {
            match Connection::open(address, greeting) {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            }
        }
        let Some(open) = connection.as_mut() else { continue };
        let outcome = if words[0].eq_ignore_ascii_case(b"help") || words[0] == b"?" {
            describe(open, &words[1..])
        } else {
            super::run(open, &words, style).map(|_| ())
        };
        if let Err(error) = outcome {
            eprintln!("{error}; the next command connects again");
            connection = None;
        }
    }
}

/// Shows what the server itself says about a command.
fn describe(connection: &mut Connection, words: &[&[u8]]) -> anyhow::Result<()> {
    let name = words.join(&b'|');
    let reply = connection.request(&[b"COMMAND", b"DOCS", &name])?;
    let mut out = Vec::new();
    match flat_pairs(&reply).first() {
        Some((name, documentation)) => {
            out.extend_from_slice(name.to_ascii_uppercase().as_slice());
            out.push(b'\n');
            let documentation = flat_pairs(documentation);
            for field in ["summary", "since", "group"] {
                if let Some((_, Reply::Bulk(text) | Reply::Simple(text))) =
                    documentation.iter().find(|(name, _)| *name == field.as_bytes())
                {
                    out.extend_from_slice(format!("  {field}: ").as_bytes());
                    out.extend_from_slice(text);
                    out.push(b'\n');
                }
            }
        }
        None => {
            if let Reply::Error(text) = reply {
                format::error(text, Style { raw: false, colour: false }, &mut out);
            } else {
                out.extend_from_slice(
                    b"The server knows no such command; `command list` names all it knows.\n",
                );
            }
        }
    }
    std::io::stdout().write_all(&out)?;
    Ok(())
}

/// The pairs of a map, or of the flat array that RESP2 makes of it; keys that are no text are left out.
fn flat_pairs<'r, 'b>(reply: &'r Reply<'b>) -> Vec<(&'b [u8], &'r Reply<'b>)> {
    let text = |key: &Reply<'b>| match key {
        Reply::Bulk(name) | Reply::Simple(name) => Some(*name),
        _ => None,
    };
    match reply {
        Reply::Map(pairs) => pairs.iter().filter_map(|(key, value)| Some((text(key)?, value))).collect(),
        Reply::Array(items) => {
            items.chunks_exact(2).filter_map(|pair| Some((text(&pair[0])?, &pair[1]))).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a command carries a password, which does not belong in a file.
fn holds_password(words: &[&[u8]]) -> bool {
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match words {
        [name, ..] if is(name, "auth") => true,
        [name, rest @ ..] if is(name, "hello") => rest.iter().any(|word| is(word, "auth")),
        [name, set, rest @ ..] if is(name, "config") && is(set, "set") => {
            rest.iter().any(|word| is(word, "password") || is(word, "requirepass"))
        }
        _ => false,
    }
}

/// Where history is kept; `None` where no home is known or the folder cannot be made.
fn history_file() -> Option<PathBuf> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    let folder = state.join("plumbkv");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("cli_history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stay_out_of_history() {
        let check = |line: &str| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            holds_password(&words)
        };
        assert!(check("AUTH x") && check("hello 3 AUTH default x") && check("config SET requirepass x"));
        assert!(!check("set auth x") && !check("hello 3") && !check("config get requirepass"));
    }

    #[test]
    fn documentation_is_read_from_both_versions() {
        let map = Reply::Map(vec![(Reply::Bulk(b"get"), Reply::Integer(1))]);
        let array = Reply::Array(vec![Reply::Bulk(b"get"), Reply::Integer(1)]);
        assert_eq!(flat_pairs(&map), flat_pairs(&array));
        assert_eq!(flat_pairs(&map).len(), 1);
    }
}
