use super::*;
use crate::target::digest::is_static;

fn runtime() -> Runtime {
    Runtime {
        program: "podman".to_owned(),
        version: "4.3.1".to_owned(),
        oci: "runc 1.1.5".to_owned(),
        global: vec![],
        extra: vec!["--ulimit".to_owned(), "nofile=5:5".to_owned()],
        work_dir: PathBuf::from("/tmp"),
    }
}

#[test]
fn the_probe_program_is_static_and_says_its_text() {
    let program = probe_program().unwrap();
    assert!(is_static(&program));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("probe");
    write_executable(&path, &program).unwrap();
    let done = run(&path.display().to_string(), &[], SHORT).unwrap();
    assert!(done.success);
    assert_eq!(done.stdout, PROBE_TEXT);
}

#[test]
fn a_published_port_is_bound_to_loopback_only() {
    let request = Request {
        image: "localhost/plumbkv:x",
        cpu: Some(0),
        published: Some(7_000),
        environment: vec![("P".to_owned(), "s".to_owned())],
        arguments: vec!["serve".to_owned()],
    };
    let line = runtime().start_arguments("n", &request).join(" ");
    assert!(line.contains("--cpus 1 --memory 2g --ulimit nofile=5:5 --cpuset-cpus 0"), "{line}");
    assert!(line.contains("-p 127.0.0.1:7000:6379 --env P=s localhost/plumbkv:x serve"), "{line}");
    let host = runtime().start_arguments("n", &Request { published: None, ..request }).join(" ");
    assert!(host.contains("--network host") && !host.contains("-p "), "{host}");
}

#[test]
fn a_program_that_is_not_there_is_no_runtime() {
    let error = try_program("no-such-runtime", Path::new("/tmp")).unwrap_err();
    assert!(error.contains("cannot run no-such-runtime"), "{error}");
}
