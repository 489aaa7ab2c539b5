//! The place of functions in a program moves its figures by a percent or two, whatever they do. So each block is measured with new
//! layouts: the files that the linker was given are kept, and linked again with their sections in another order.
//!
//! That takes a linker that can shuffle: the one that Rust brings, or an installed `ld.lld`. The build itself takes the linker it
//! always takes; a script before it keeps a copy of what it is given.

use anyhow::{Context as _, ensure};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files of a link, in its folder: its words, one to a line, and the linker.
const WORDS: &str = "words";
const LINKER: &str = "linker";

/// What the linker was given for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    folder: PathBuf,
}

impl Link {
    /// A link that was kept in a folder; none if there is none.
    pub(super) fn found(folder: &Path) -> Option<Self> {
        [WORDS, LINKER]
            .iter()
            .all(|name| folder.join(name).is_file())
            .then(|| Self { folder: folder.to_owned() })
    }

    /// Makes the program anew, its sections in an order that `seed` draws. Whole or not at all.
    ///
    /// # Errors
    /// The linker cannot be run, or refuses: the message ends with what it printed last.
    pub(super) fn shuffled(&self, shuffler: &Shuffler, seed: u32, program: &Path) -> anyhow::Result<()> {
        let read = |name: &str| {
            let path = self.folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
        };
        let (words, linker) = (read(WORDS)?, read(LINKER)?);
        let unfinished = program.with_extension("part");
        let mut command = Command::new(linker.trim());
        let mut is_output = false;
        for word in words.lines() {
            command.arg(if is_output { unfinished.as_os_str() } else { OsStr::new(word) });
            is_output = word == "-o";
        }
        let output = command
            .args(&shuffler.words)
            .arg(format!("-Wl,--shuffle-sections=.text*={seed}"))
            .arg(format!("-Wl,--shuffle-sections=.rodata*={seed}"))
            .arg("-Wl,--strip-debug")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("running {}", linker.trim()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().rev().take(4).collect();
        ensure!(
            output.status.success(),
            "linking again failed ({}): {}",
            output.status,
            last.into_iter().rev().collect::<Vec<_>>().join(" ")
        );
        std::fs::rename(&unfinished, program)
            .with_context(|| format!("the linker left no program at {}", unfinished.display()))
    }
}

/// How a linker is called that can shuffle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shuffler {
    words: Vec<OsString>,
}

impl Shuffler {
    /// That of the Rust that builds in `checkout`, or one that is installed; none if there is neither.
    pub(super) fn find(checkout: &Path, triple: &str) -> Option<Self> {
        let installed =
            Command::new("ld.lld").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let is_installed = installed.is_ok_and(|status| status.success());
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).current_dir(checkout).output();
        let brought = sysroot.ok().filter(|output| output.status.success()).map(|output| {
            let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Path::new(&sysroot).join("lib/rustlib").join(triple).join("bin/gcc-ld")
        });
        let mut words = vec![OsString::from("-fuse-ld=lld")];
        match brought.filter(|folder| folder.join("ld.lld").is_file()) {
            Some(folder) => {
                let mut word = OsString::from("-B");
                word.push(folder);
                words.push(word);
            }
            None if is_installed => {}
            None => return None,
        }
        Some(Self { words })
    }
}

/// Writes the two scripts that keep what a program called `name` is linked from below `folder`; `salt` gives its symbols other
/// names where it is not empty. Libraries in search paths below `folder` or `own` are kept as well: the next
/// commit's build writes them anew under the same path. Returns the first script, which calls rustc, and the folder that the link will be in.
///
/// # Errors
/// They cannot be written, or a name has a quote or a line break.
pub(super) fn keep(
    folder: &Path,
    own: &[PathBuf],
    name: &str,
    salt: &str,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    let kept = folder.join("link");
    // Cargo keeps what it built apart by the path of the script that calls rustc.
    let (rustc, linker) = (folder.join(format!("keep-rustc{salt}")), folder.join("keep-link"));
    // Cargo names a folder as the kernel does.
    let own = own.iter().map(PathBuf::as_path).chain([folder]);
    let own = own.flat_map(|one| [Some(one.to_owned()), one.canonicalize().ok()]).flatten();
    let own = own.map(|one| Ok(format!("{}/*", quoted(&one.to_string_lossy())?)));
    let own = own.collect::<anyhow::Result<Vec<String>>>()?.join(" | ");
    let metadata = if salt.is_empty() { String::new() } else { format!(" -C metadata={}", quoted(salt)?) };
    let (kept_word, linker_word) = (quoted(&kept.to_string_lossy())?, quoted(&linker.to_string_lossy())?);
    let (name_word, crate_word) = (quoted(name)?, quoted(&name.replace('-', "_"))?);
    let fill = |text: &str| {
        text.replace("{kept}", &kept_word)
            .replace("{linker}", &linker_word)
            .replace("{name}", &name_word)
            .replace("{metadata}", &metadata)
            .replace("{crate}", &crate_word)
            .replace("{own}", &own)
    };
    // What an earlier build left there is of another program.
    if kept.exists() {
        std::fs::remove_dir_all(&kept).with_context(|| format!("removing {}", kept.display()))?;
    }
    script(&rustc, &fill(RUSTC))?;
    script(&linker, &fill(KEEP))?;
    Ok((rustc, kept))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> anyhow::Result<String> {
    ensure!(
        !word.contains(['\'', '\n', '\0']),
        "'{}' has a quote or a line break: move the checkout, or rename the program",
        word.escape_default()
    );
    Ok(format!("'{word}'"))
}

/// Calls rustc with the script below in place of the linker it was given.
const RUSTC: &str = r#"#!/bin/sh
linker=cc
for word do
    case "$word" in
    linker=*) linker=${word#linker=} ;;
    -Clinker=*) linker=${word#-Clinker=} ;;
    esac
done
GATE_LINKER=$linker exec "$@" -C linker={linker}{metadata}
"#;

/// Keeps copies of the files that a program is linked from, then links it. Files that stay where they are would be those of
/// the next build; so would libraries that are only named, and searched for below the checkout.
const KEEP: &str = r#"#!/bin/sh
set -e
last= out=
for word do
    if [ "$last" = -o ]; then out=$word; fi
    last=$word
done
kept={kept}
case "${out##*/}" in
{name} | {name}-???????????????? | {crate}-????????????????)
    part=$kept.part
    rm -rf "$part"
    mkdir -p "$part"
    number=0 last=
    for word do
        prefix= search=
        if [ "$last" = -L ]; then
            search=$word
        else
            case "$word" in
            -L?*) prefix=-L search=${word#-L} ;;
            esac
        fi
        last=$word
        case "$search" in
        "") ;;
        {own} | [!/]*)
            if [ -d "$search" ]; then
                number=$((number + 1))
                copy=$number-libraries
                mkdir "$part/$copy"
                for library in "$search"/lib*.a "$search"/lib*.so "$search"/lib*.so.*; do
                    if [ -f "$library" ]; then cp "$library" "$part/$copy/"; fi
                done
                word=$prefix$copy
            fi
            ;;
        esac
        case "$word" in
        *.o | *.rlib | *.a)
            if [ -f "$word" ]; then
                number=$((number + 1))
                copy=$number-${word##*/}
                cp "$word" "$part/$copy"
                word=$copy
            fi
            ;;
        esac
        printf '%s\n' "$word"
    done >"$part/words"
    printf '%s\n' "${GATE_LINKER:-cc}" >"$part/linker"
    rm -rf "$kept"
    mv "$part" "$kept"
    ;;
esac
exec "${GATE_LINKER:-cc}" "$@"
"#;

fn script(path: &Path, text: &str) -> anyhow::Result<()> {
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = r#"
#[inline(never)] fn one(x: u64) -> u64 { std::hint::black_box(x) * 3 }
#[inline(never)] fn two(x: u64) -> u64 { std::hint::black_box(x) + 7 }
#[inline(never)] fn three(x: u64) -> u64 { std::hint::black_box(x) ^ 1 }
fn main() { println!("{}", three(two(one(13)))); }
"#;

    /// Addresses of all functions, in the order of their names.
    fn places(program: &Path) -> String {
        let output = Command::new("nm").arg(program).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn a_program_is_linked_again_in_another_order_and_does_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (rustc, kept) = keep(folder.path(), &[], "own", "").unwrap();
        std::fs::write(at("own.rs"), PROGRAM).unwrap();
        let built = Command::new(&rustc)
            .args(["rustc", "-O", "--edition", "2021", "own.rs", "-o", "own"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let link = Link::found(&kept).unwrap();
        // What the build leaves behind is not needed any more.
        std::fs::remove_file(at("own")).unwrap();
        let triple = super::super::super::begin::target_triple();
        let shuffler = Shuffler::find(folder.path(), &triple).unwrap();
        let mut seen = Vec::new();
        for seed in [1, 2, 1] {
            let program = at(&format!("own-{seed}"));
            link.shuffled(&shuffler, seed, &program).unwrap();
            let said = Command::new(&program).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), "47\n");
            seen.push(places(&program));
        }
        assert!(seen[0] != seen[1], "another seed is another order");
        assert!(seen[0] == seen[2], "the same seed is the same order");
    }

    #[test]
    fn a_link_that_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(WORDS), "gone.o\n-o\nx\n").unwrap();
        std::fs::write(folder.path().join(LINKER), "cc\n").unwrap();
        let link = Link::found(folder.path()).unwrap();
        let triple = super::super::super::begin::target_triple();
        let shuffler = Shuffler::find(folder.path(), &triple).unwrap();
        let error = link.shuffled(&shuffler, 1, &folder.path().join("program")).unwrap_err().to_string();
        assert!(error.contains("gone.o"), "{error}");
        assert_eq!(Link::found(&folder.path().join("none")), None);
        assert!(keep(&folder.path().join("it's"), &[], "own", "").is_err());
        assert!(keep(folder.path(), &[], "own\nother", "").is_err());
    }

    /// A library of C that answers `number`, in `folder`.
    fn library(folder: &Path, number: u32) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("fast.c"), format!("int fast(void) {{ return {number}; }}\n")).unwrap();
        let made = Command::new("sh")
            .args(["-c", "cc -c fast.c -o fast.o && rm -f libfast.a && ar rcs libfast.a fast.o"])
            .current_dir(folder)
            .status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn a_library_that_the_next_build_writes_anew_is_not_linked_into_this_one() {
        let folder = tempfile::Builder::new().prefix("a@b:c, (~$d\"").tempdir().unwrap();
        let out = folder.path().join("checkout/target/build/own-0123456789abcdef/out");
        library(&out, 1);
        let (rustc, kept) = keep(folder.path(), &[], "own", "").unwrap();
        let text =
            "unsafe extern \"C\" { fn fast() -> i32; } fn main() { println!(\"{}\", unsafe { fast() }); }";
        std::fs::write(folder.path().join("own.rs"), text).unwrap();
        // As cargo passes what a build script says, with the library behind the search path.
        let built = Command::new(&rustc)
            .args(["rustc", "-O", "--edition", "2024", "own.rs", "-o", "own", "-C", "link-arg=-lfast", "-L"])
            .arg(format!("native={}", out.display()))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        library(&out, 2);
        let triple = super::super::super::begin::target_triple();
        let shuffler = Shuffler::find(folder.path(), &triple).unwrap();
        let program = folder.path().join("again");
        Link::found(&kept).unwrap().shuffled(&shuffler, 1, &program).unwrap();
        assert_eq!(Command::new(&program).output().unwrap().stdout, b"1\n");
    }
}
