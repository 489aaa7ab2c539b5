//! CONFIG REWRITE: writes settings into the configuration file. Comments and order stay.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Value};

/// Gives each setting its value in the file at `path`, which is replaced as a whole.
///
/// # Errors
///
/// One line that says why; the file is unchanged then.
pub(crate) fn rewrite(path: &Path, values: &[(&str, String)]) -> Result<(), String> {
    // Two at once would each write what they have read before the other wrote.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().replace('\n', ", "))?;
    for (name, text) in values {
        set(&mut document, name, text);
    }
    replace(path, &document.to_string()).map_err(|error| error.to_string())
}

fn set(document: &mut DocumentMut, name: &str, text: &str) {
    let mut value = text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from);
    match document.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            // A comment behind the value belongs to its decoration.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            document.insert(name, Item::Value(value));
        }
    }
}

/// The file has either its old content or all of the new one, whatever happens.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A symbolic link stays one.
    let path = fs::canonicalize(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const BEFORE: &str =
        "# Of the cache.\nmemory-limit = \"64mb\" # small\n\nmaxclients = 100\nlisten = [\"127.0.0.1:0\"]\n";

    fn folder_with(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumbkv.toml");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn values_change_and_everything_else_stays() {
        let (folder, path) = folder_with(BEFORE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let values = [
            ("memory-limit", "134217728".to_owned()),
            ("maxclients", "7".to_owned()),
            ("password", "a \"b\"\\".to_owned()),
        ];
        for _ in 0..2 {
            rewrite(&path, &values).unwrap();
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                "# Of the cache.\nmemory-limit = 134217728 # small\n\nmaxclients = 7\nlisten = [\"127.0.0.1:0\"]\npassword = 'a \"b\"\\'\n"
            );
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
        let config = crate::config::load(|_| Vec::new(), |_| None, Some(&path)).unwrap();
        assert_eq!(config.password.as_deref(), Some("a \"b\"\\"));
        assert_eq!((config.memory_limit, config.max_clients), (Some(128 << 20), 7));
    }

    #[test]
    fn a_symbolic_link_stays_one() {
        let (folder, path) = folder_with("");
        let link = folder.path().join("link.toml");
        symlink(&path, &link).unwrap();
        rewrite(&link, &[("maxclients", "7".to_owned())]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "maxclients = 7\n");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_changed() {
        let (folder, path) = folder_with("maxclients = \n");
        assert!(rewrite(&path, &[("maxclients", "7".to_owned())]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "maxclients = \n");
        let error = rewrite(&folder.path().join("none.toml"), &[]).unwrap_err();
        assert!(error.starts_with("No such file or directory"), "{error}");
    }
}
