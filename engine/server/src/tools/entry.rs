//! What does one key hold, and how is it given a value? `plumbkv get` and `plumbkv set`, without a server.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use anyhow::Context as _;
use plumbkv::{Expiry, Lifetime, SetOptions};

use super::encoding::Encoding;
use super::output::{Format, write_entry};
use super::place::Number;
use super::store::Store;

/// Print the value of a key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumbkv get --data /var/lib/plumbkv greeting
  plumbkv get --data /var/lib/plumbkv --database 1 greeting
  plumbkv get --data /var/lib/plumbkv --encoding hex 00ff | xxd -r -p > value

Exit codes: 0 success, 1 no such key or an error, 64 usage error.")]
pub(super) struct GetArgs {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    database: Number,
    /// Encoding of the key and of the printed value; text prints the bytes unchanged.
    #[arg(long, value_enum, default_value_t)]
    encoding: Encoding,
    /// Output format: the value only, or a JSON object with key and expiry time.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The key.
    key: OsString,
}

/// Set the value of a key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The value is synced to disk before the command exits with 0.

Examples:
  plumbkv set --data /var/lib/plumbkv greeting hello
  plumbkv set --data /var/lib/plumbkv session 1f3a --expires-in 3600
  plumbkv set --data /var/lib/plumbkv picture < picture.png

Exit codes: 0 success, 1 error, 64 usage error.")]
pub(super) struct SetArgs {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    database: Number,
    /// Encoding of key and value.
    #[arg(long, value_enum, default_value_t)]
    encoding: Encoding,
    /// Expiry time of the key, in seconds from now.
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u64>,
    /// Create the store if it does not exist.
    #[arg(long)]
    create: bool,
    /// The key.
    key: OsString,
    /// The value; without one, it is read from standard input.
    #[arg(allow_hyphen_values = true)]
    value: Option<OsString>,
}

pub(super) fn get(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let key = decode(args.encoding, &args.key, "the key")?;
    let database = args.store.open_to_read()?;
    let stored = args.database.keyspace(&database)?.key(&key).into_owned();
    let Some(value) = database.get(&stored)? else {
        database.close().context("cannot close the store")?;
        anyhow::bail!("no such key: {}", args.encoding.show(&key));
    };
    let expires_at_ms = match database.expiry(&stored)? {
        Lifetime::Until(unix_ms) => Some(unix_ms),
        Lifetime::Forever | Lifetime::Missing => None,
    };
    database.close().context("cannot close the store")?;
    let mut out = io::stdout().lock();
    match (args.format, args.encoding) {
        (Format::Json, encoding) => {
            write_entry(&mut out, encoding, args.database.number(), &key, &value, expires_at_ms)?
        }
        (Format::Human, Encoding::Text) => out.write_all(&[&value[..], b"\n"].concat())?,
        (Format::Human, encoding) => writeln!(out, "{}", encoding.encode(&value).1)?,
    }
    Ok(ExitCode::SUCCESS)
}

const TOO_FAR: &str = "--expires-in is too far away";

pub(super) fn set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    let key = decode(args.encoding, &args.key, "the key")?;
    let value = match &args.value {
        Some(value) => decode(args.encoding, value, "the value")?,
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
            bytes
        }
    };
    let lifetime_ms =
        args.expires_in.map(|seconds| seconds.checked_mul(1000).context(TOO_FAR)).transpose()?;
    let database = if args.create { args.store.open_or_create() } else { args.store.open() }?;
    let expiry = match lifetime_ms {
        None => Expiry::Clear,
        Some(ms) => Expiry::At(database.now_ms().checked_add(ms).context(TOO_FAR)?),
    };
    let stored = args.database.keyspace(&database)?.key(&key).into_owned();
    database.set_with(&stored, &value, SetOptions::new().expiry(expiry))?;
    database.close().context("cannot close the store")?;
    Ok(ExitCode::SUCCESS)
}

fn decode(encoding: Encoding, text: &OsString, what: &str) -> anyhow::Result<Vec<u8>> {
    encoding.decode(text.as_bytes()).with_context(|| what.to_owned())
}
