//! What is laid out on the disk for one start of a target, and as whom is its program run?
//!
//! A start that needs files gets a folder of its own, removed with the target. Programs that refuse to be root
//! (PostgreSQL) are run as the user that the catalogue names, by `setpriv`, which becomes the program instead of
//! waiting for it: the process id that is watched, limited and ended stays the target's own.

use super::command::run;
use super::{Definition, Fill, Prepare};
use crate::load::values::{KEY_BYTES, Values, write_key};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one of the programs before a start may take.
const BEFORE_WITHIN: Duration = Duration::from_secs(60);

/// The files behind the keys of a load, for targets that serve files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Documents {
    /// Keys `0..keys`.
    pub keys: u64,
    /// Size of each, bytes.
    pub value_bytes: u32,
    /// Seed of the values.
    pub seed: u64,
}

/// Lays out everything a start needs. Returns its folder, removed when dropped, where it needs one.
pub(super) fn lay_out(
    definition: &Definition,
    root: &Path,
    parent: &Path,
    fill: &mut Fill,
    documents: Option<Documents>,
) -> Result<Option<tempfile::TempDir>, String> {
    if !definition.needs_folder() && definition.before.is_empty() {
        return Ok(None);
    }
    let key = &definition.key;
    let told = |what: &str, error: std::io::Error| format!("{key}: cannot {what}: {error}");
    let owner = owner(definition)?;
    let folder = tempfile::Builder::new()
        .prefix(&format!("{key}-"))
        .tempdir_in(parent)
        .map_err(|error| told("make a folder for its start", error))?;
    fill.work_dir = folder.path().to_owned();
    for made in [fill.data_dir(), fill.documents()] {
        fs::create_dir(&made).map_err(|error| told("make its folders", error))?;
    }
    // Others may pass through to what is theirs, and see nothing on the way.
    for passed in [parent, folder.path()] {
        let _ = fs::set_permissions(passed, fs::Permissions::from_mode(0o711));
    }
    if let Some(owner) = &owner {
        for path in [folder.path().to_owned(), fill.data_dir()] {
            chown(&path, Some(owner.uid), Some(owner.gid))
                .map_err(|error| told(&format!("give its folder to {}", owner.name), error))?;
        }
    }
    fs::set_permissions(fill.data_dir(), fs::Permissions::from_mode(0o700))
        .map_err(|error| told("set the rights of its data folder", error))?;
    if definition.prepare == Some(Prepare::Documents) {
        let documents = documents.unwrap_or(Documents { keys: 1, value_bytes: 64, seed: 0 });
        write_documents(&fill.documents(), documents).map_err(|error| told("write its documents", error))?;
    }
    for (name, template) in &definition.files {
        let text = fs::read_to_string(root.join(template))
            .map_err(|error| told(&format!("read {template} below {}", root.display()), error))?;
        fs::write(folder.path().join(name), fill.text(&text))
            .map_err(|error| told(&format!("write its {name}"), error))?;
    }
    for program in &definition.before {
        let mut words: Vec<String> = program.iter().map(|word| fill.text(word)).collect();
        as_user(owner.as_ref(), &mut words)?;
        let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
        let (first, rest) = borrowed.split_first().ok_or_else(|| format!("{key}: an empty command"))?;
        let done = run(first, rest, BEFORE_WITHIN)?;
        if !done.success {
            return Err(format!("{key}: {} failed: {}", program.join(" "), done.last_line()));
        }
    }
    Ok(Some(folder))
}

/// Writes what each key holds into a file of its name.
pub(crate) fn write_documents(folder: &Path, documents: Documents) -> std::io::Result<()> {
    let values = Values::new(documents.seed, documents.value_bytes as usize);
    let mut value = vec![0; documents.value_bytes as usize];
    let mut key = [0; KEY_BYTES];
    for index in 0..documents.keys {
        write_key(index, &mut key);
        values.write(index, &mut value);
        fs::write(folder.join(String::from_utf8_lossy(&key).as_ref()), &value)?;
    }
    Ok(())
}

/// The user a target is run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    name: String,
    uid: u32,
    gid: u32,
}

/// The user a definition names, where the runner is root and so has to become somebody else.
pub(super) fn owner(definition: &Definition) -> Result<Option<Owner>, String> {
    let Some(name) = definition.user.as_ref().filter(|_| rustix::process::geteuid().is_root()) else {
        return Ok(None);
    };
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_user(&passwd, name)
        .map(Some)
        .ok_or_else(|| format!("{} runs as user {name}, whom /etc/passwd does not know", definition.key))
}

fn find_user(passwd: &str, name: &str) -> Option<Owner> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Owner { name: name.to_owned(), uid, gid })
    })
}

/// Puts in front of a command what makes it run as another user.
pub(super) fn as_user(owner: Option<&Owner>, words: &mut Vec<String>) -> Result<(), String> {
    let Some(owner) = owner else { return Ok(()) };
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().find(|path| Path::new(path).is_file());
    let setpriv =
        setpriv.ok_or("no setpriv here (package util-linux), which runs a target as another user")?;
    // A change of user takes back the promise to die with the runner: it is made again.
    let mut all: Vec<String> = vec![setpriv.to_owned()];
    all.extend([format!("--reuid={}", owner.uid), format!("--regid={}", owner.gid)]);
    all.extend(["--clear-groups", "--pdeathsig", "KILL", "--"].map(str::to_owned));
    all.append(words);
    *words = all;
    Ok(())
}

/// The first program of a list of places that is there: below `root` unless absolute, `*` for one folder. Its path is
/// absolute, because a server may be started in a folder of its own.
pub(super) fn first_there(root: &Path, places: &[String]) -> Option<PathBuf> {
    let root = std::path::absolute(root).ok()?;
    places.iter().find_map(|place| match place.split_once("/*/") {
        None => Some(root.join(place)).filter(|path| path.is_file()),
        Some((before, after)) => {
            let entries = fs::read_dir(root.join(before)).ok()?;
            let mut found: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path().join(after))
                .filter(|path| path.is_file())
                .collect();
            found.sort();
            found.pop()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd =
            "root:x:0:0:root:/root:/bin/bash\npostgres2:x:1:1::/:\npostgres:x:101:104:,,,:/var:/bin/sh\n";
        let found = find_user(passwd, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert_eq!(find_user(passwd, "post"), None);
    }

    #[test]
    fn the_newest_of_several_versions_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["14", "15"] {
            fs::create_dir_all(dir.path().join("lib").join(version).join("bin")).unwrap();
            fs::write(dir.path().join("lib").join(version).join("bin/x"), "").unwrap();
        }
        let places = ["nowhere/x", "none/*/bin/x", "lib/*/bin/x"].map(str::to_owned);
        assert_eq!(first_there(dir.path(), &places), Some(dir.path().join("lib/15/bin/x")));
        assert_eq!(first_there(dir.path(), &places[..2]), None);
        let here = first_there(Path::new("."), &["Cargo.toml".to_owned()]);
        assert_eq!(here, Some(std::env::current_dir().unwrap().join("Cargo.toml")));
    }

    #[test]
    fn documents_hold_the_values_of_their_keys() {
        let dir = tempfile::tempdir().unwrap();
        write_documents(dir.path(), Documents { keys: 3, value_bytes: 240, seed: 9 }).unwrap();
        let mut expected = vec![0; 240];
        Values::new(9, 240).write(2, &mut expected);
        assert_eq!(fs::read(dir.path().join("key:000000000002")).unwrap(), expected);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
