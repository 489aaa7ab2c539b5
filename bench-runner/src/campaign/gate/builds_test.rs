//! Programs of commits and files, with git, cargo and a C compiler.

use super::*;
use std::collections::BTreeMap;

/// A repository whose program is a script that says its version.
fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]).unwrap();
    for version in ["one", "two"] {
        std::fs::write(dir.path().join("server.sh"), format!("#!/bin/sh\necho {version}\n")).unwrap();
        commit(dir.path(), version);
    }
    dir
}

fn recipe(command: &str) -> BuildRecipe {
    BuildRecipe {
        command: vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
        binary: "out/server".to_owned(),
        environment: BTreeMap::from([("NAME".to_owned(), "server".to_owned())]),
        layouts: Layouts::One,
        calibration: None,
        salt: String::new(),
        comments: 0,
    }
}

#[test]
fn commits_are_built_once_and_files_are_taken_as_they_are() {
    let dir = repository();
    let good = recipe("mkdir -p out && cp server.sh out/$NAME");
    let mut told = Vec::new();
    let mut tell = |text: &str| told.push(text.to_owned());
    let ([base, head], _) = programs(dir.path(), ["HEAD~1", "HEAD"], [Some(&good); 2], &mut tell).unwrap();
    let said = |one: &Programs| std::fs::read_to_string(&one.program).unwrap();
    assert!(said(&base).contains("one") && said(&head).contains("two"));
    assert!(base.commit.len() == 40 && base.stripped_sha256 != head.stripped_sha256);
    let file = head.program.to_string_lossy().into_owned();
    let ([again, same], _) = programs(dir.path(), ["HEAD", &file], [Some(&good); 2], &mut tell).unwrap();
    assert_eq!(again.stripped_sha256, same.stripped_sha256);
    assert!(same.commit.is_empty());
    assert_eq!(told.len(), 2, "{told:?}");
}

/// Commits all of a repository.
fn commit(root: &Path, message: &str) {
    git(root, &["add", "."]).unwrap();
    let author = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    git(root, &[&author[..], &["commit", "--quiet", "-m", message]].concat()).unwrap();
}

#[test]
fn an_object_of_another_commit_is_not_built_in() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]).unwrap();
    // As many a Makefile: nothing says that the object depends on the header.
    let makefile = "server: server.o\n\tcc -o server server.o\nserver.o: server.c\n\tcc -c server.c\n";
    std::fs::write(dir.path().join("Makefile"), makefile).unwrap();
    std::fs::write(dir.path().join(".gitignore"), "*.o\nserver\n/target\n").unwrap();
    std::fs::write(dir.path().join("server.c"), "#include \"server.h\"\nint main(void) { return ANSWER; }\n")
        .unwrap();
    for answer in ["1", "2"] {
        std::fs::write(dir.path().join("server.h"), format!("#define ANSWER {answer}\n")).unwrap();
        commit(dir.path(), answer);
    }
    let make = BuildRecipe { command: vec!["make".to_owned()], binary: "server".to_owned(), ..recipe("") };
    let ([base, head], _) = programs(dir.path(), ["HEAD~1", "HEAD"], [Some(&make); 2], &mut |_| {}).unwrap();
    let code = |one: &Programs| Command::new(&one.program).status().unwrap().code();
    assert_eq!((code(&base), code(&head)), (Some(1), Some(2)));
    assert!(!base.is_same(&head));
}

#[test]
fn a_script_is_the_same_server_only_where_it_is_of_one_commit_or_one_file() {
    let dir = repository();
    std::fs::write(dir.path().join("other"), "other\n").unwrap();
    commit(dir.path(), "what the script starts");
    let build = recipe("mkdir -p out && cp server.sh out/server");
    let sides = |base: &str, head: &str| {
        let ([base, head], _) = programs(dir.path(), [base, head], [Some(&build); 2], &mut |_| {}).unwrap();
        assert_eq!(base.stripped_sha256, head.stripped_sha256);
        base.is_same(&head)
    };
    assert!(!sides("HEAD~1", "HEAD") && sides("HEAD", "HEAD"));
    let file = dir.path().join("server.sh").to_string_lossy().into_owned();
    assert!(sides(&file, &file));
}

/// A package of cargo without dependencies, in a repository.
fn package() -> (tempfile::TempDir, BuildRecipe) {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]).unwrap();
    let manifest = "[package]\nname = \"own-server\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(dir.path().join(".gitignore"), "/target\nCargo.lock\n").unwrap();
    let text = "fn main() { println!(\"{}\", std::env::args().nth(9).unwrap()); }\n";
    std::fs::write(dir.path().join("src/main.rs"), text).unwrap();
    commit(dir.path(), "one");
    let command = ["cargo", "build", "--offline"].map(str::to_owned).to_vec();
    let binary = "target/debug/own-server".to_owned();
    (dir, BuildRecipe { command, binary, layouts: Layouts::Cargo, ..recipe("") })
}

fn one(dir: &Path, build: &BuildRecipe) -> Programs {
    programs(dir, ["HEAD"; 2], [Some(build); 2], &mut |_| {}).unwrap().0[0].clone()
}

#[test]
fn a_link_that_an_interrupted_gate_lost_is_made_again() {
    let (dir, build) = package();
    assert!(one(dir.path(), &build).link.is_some());
    let kept = dir.path().join("target/gate/programs");
    // Stopped between cargo's link and the copy: cargo has nothing left to do. Then, half a copy of its files.
    std::fs::remove_dir_all(&kept).unwrap();
    assert!(one(dir.path(), &build).link.is_some());
    let found = |name: &str| {
        let mut all = std::fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path());
        all.find(|path| path.to_string_lossy().ends_with(name)).unwrap()
    };
    let (link, part) = (found(".link"), kept.join("0.link.part"));
    std::fs::rename(&link, &part).unwrap();
    let again = one(dir.path(), &build);
    assert_eq!(again.link, Link::found(&found(".link")));
    std::fs::create_dir(kept.join("1.link")).unwrap();
    forget_other_links(dir.path(), [&again, &again]).unwrap();
    assert!(!part.exists() && !kept.join("1.link").exists() && link.exists());
}

#[test]
fn a_comment_or_other_names_of_symbols_make_other_bytes_of_the_same_code() {
    let (dir, build) = package();
    let commented = |comments| BuildRecipe { comments, ..build.clone() };
    let [plain, first, second] = [0, 1, 2].map(|lines| one(dir.path(), &commented(lines)));
    let salted = one(dir.path(), &BuildRecipe { salt: "a".to_owned(), ..build.clone() });
    let digests: std::collections::BTreeSet<&str> =
        [&plain, &first, &second, &salted].map(|one| one.stripped_sha256.as_str()).into();
    assert_eq!(digests.len(), 4);
    let again = one(dir.path(), &build);
    assert_eq!(plain.sha256, again.sha256, "the comment is gone");
    let source = std::fs::read_to_string(dir.path().join("src/main.rs")).unwrap();
    assert!(!source.contains("changes nothing"), "the repository's own files are left alone");
}

#[test]
fn another_flag_of_the_compiler_is_another_program() {
    let dir = repository();
    let digest = |word: &str| digest_of(dir.path(), &resolve(dir.path(), "HEAD").unwrap(), &recipe(word));
    let plain = digest("x");
    assert_eq!(plain, digest("x"));
    assert_ne!(plain, digest("y"));
    std::fs::write(dir.path().join("rust-toolchain.toml"), "[toolchain]\n").unwrap();
    commit(dir.path(), "another compiler");
    assert_ne!(plain, digest("x"));
}

#[test]
fn what_cannot_be_built_says_why() {
    let dir = repository();
    let error = |given: &str, recipe: Option<&BuildRecipe>| {
        format!("{:#}", programs(dir.path(), [given, given], [recipe; 2], &mut |_| {}).unwrap_err())
    };
    let bad = recipe("echo no compiler here >&2; exit 3");
    assert!(error("HEAD", Some(&bad)).contains("no compiler here"));
    assert!(error("HEAD", Some(&recipe("true"))).contains("left no program"));
    assert!(error("HEAD", None).contains("[build]"));
    assert!(error("nowhere", Some(&bad)).contains("no file or commit"));
    assert!(error("--upload-pack=x", Some(&bad)).contains("no file or commit"));
}

#[test]
fn symbols_do_not_make_a_program_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let copy = dir.path().join("bare");
    let done = Command::new("strip").arg("--strip-all").arg("-o").arg(&copy).arg(&own).status();
    if done.is_ok_and(|status| status.success()) {
        assert_eq!(stripped(&own).unwrap(), stripped(&copy).unwrap());
        assert_ne!(sha256_file(&own).unwrap(), sha256_file(&copy).unwrap());
    }
}
