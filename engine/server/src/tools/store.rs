//! How does a tool come to a store? By its directory, which no server may have open meanwhile.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use plumbkv::{Compression, Database, Options, Profile, SyncMode};

use crate::storage;

/// Which store, and in how much memory.
#[derive(Debug, clap::Args)]
pub(super) struct Store {
    /// Directory of the store; no server may be running on it.
    #[arg(short, long = "data", value_name = "DIR", env = "PLUMBKV_DATA", value_hint = clap::ValueHint::DirPath, value_parser = storage::directory)]
    directory: PathBuf,
    /// Presets as for serve: default (256 MiB of memory), low-memory (16 MiB) or throughput (1 GiB).
    #[arg(long, env = "PLUMBKV_PROFILE", default_value = "default", value_parser = storage::profile)]
    profile: Profile,
}

/// How a tool that writes much writes its tables.
#[derive(Debug, Default, clap::Args)]
pub(super) struct WriteArgs {
    /// Compression of the tables written: lz4 or none.
    #[arg(long, env = "PLUMBKV_COMPRESSION", default_value = "lz4", value_parser = storage::compression)]
    compression: Compression,
}

impl Store {
    /// Opens a store that is there to be read: nothing in its directory changes, and other programs may
    /// read it meanwhile.
    pub(super) fn open_to_read(&self) -> anyhow::Result<Database> {
        self.check_is_there()?;
        let options = Options::durable(&self.directory).profile(self.profile).read_only(true);
        Database::open(options).map_err(|error| {
            let way_out = match &error {
                plumbkv::Error::InvalidOption { option: "memory_budget", .. } => "; try --profile throughput",
                _ => "",
            };
            anyhow::Error::new(error).context(format!("cannot open the store{way_out}"))
        })
    }

    /// Opens a store that is there.
    pub(super) fn open(&self) -> anyhow::Result<Database> {
        self.check_is_there()?;
        self.open_or_create()
    }

    /// Fails where there is no store.
    pub(super) fn check_is_there(&self) -> anyhow::Result<()> {
        let directory = self.directory.display();
        anyhow::ensure!(
            self.is_there(),
            "no store in {directory}: expected the directory given to `plumbkv serve --data`"
        );
        Ok(())
    }

    /// Opens a store, or makes one.
    pub(super) fn open_or_create(&self) -> anyhow::Result<Database> {
        self.open_to_write(&WriteArgs::default())
    }

    /// Opens a store whose tables are to be written in a way of their own, or makes one.
    pub(super) fn open_to_write(&self, args: &WriteArgs) -> anyhow::Result<Database> {
        // What is written is synced once, when the store is closed.
        let options = Options::durable(&self.directory)
            .profile(self.profile)
            .sync_mode(SyncMode::Never)
            .compression(args.compression);
        Database::open(options).context("cannot open the store")
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether there are files of a store. One whose `CURRENT` is missing is damaged, and the store says so when it is opened.
    fn is_there(&self) -> bool {
        let names = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        names.into_iter().any(|entry| {
            let name = entry.file_name();
            name == "CURRENT" || Path::new(&name).extension().is_some_and(|end| end == "table")
        })
    }
}

/// What is wrong with which file, for whoever is asking already.
pub(super) fn damage(error: &plumbkv::Error) -> String {
    match error {
        plumbkv::Error::Corrupt { path, offset, reason } => format!("{path}: at byte {offset}: {reason}"),
        other => other.to_string(),
    }
}
