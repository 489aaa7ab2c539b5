use super::*;
use crate::target::probe_program::asks_for_io_uring;

fn runtime() -> Runtime {
    Runtime {
        program: "podman".to_owned(),
        version: "4.3.1".to_owned(),
        oci: "runc 1.1.5".to_owned(),
        global: vec![],
        extra: vec!["--ulimit".to_owned(), "nofile=5:5".to_owned()],
        work_dir: PathBuf::from("/tmp"),
        profiles: Profiles {
            with_io_uring: Some("/profiles/with.json".into()),
            without_io_uring: Some("/profiles/without.json".into()),
        },
    }
}

#[test]
fn a_published_port_is_bound_to_loopback_only() {
    let request = Request {
        image: "localhost/plumbkv:x",
        cpu: Some(0),
        published: Some((7_000, 6_379)),
        io_uring: true,
        memory_bytes: 2 << 30,
        environment: vec![("P".to_owned(), "s".to_owned())],
        arguments: vec!["serve".to_owned()],
    };
    let line = runtime().start_arguments("n", &request).join(" ");
    assert!(line.contains("--cpus 1 --memory 2147483648 --memory-swap 2147483648"), "{line}");
    assert!(line.contains("seccomp=/profiles/with.json --ulimit nofile=5:5 --cpuset-cpus 0"), "{line}");
    assert!(line.contains("-p 127.0.0.1:7000:6379 --env P=s localhost/plumbkv:x serve"), "{line}");
    let without = Request { io_uring: false, memory_bytes: 64 << 20, ..request.clone() };
    let line_without = runtime().start_arguments("n", &without).join(" ");
    assert_eq!(line_without, line.replace("2147483648", "67108864").replace("/with.", "/without."));
    let host = runtime().start_arguments("n", &Request { published: None, ..request }).join(" ");
    assert!(host.contains("--network host") && !host.contains("-p "), "{host}");
}

#[test]
fn a_program_that_is_not_there_is_no_runtime() {
    let error = try_program("no-such-runtime", Path::new("/tmp")).unwrap_err();
    assert!(error.contains("cannot run no-such-runtime"), "{error}");
}

/// The whole way on this machine's runtime, where there is one: its probe program stands in for the server.
#[test]
fn an_image_is_built_run_and_read_back_and_no_container_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = match detect(dir.path()) {
        Ok(runtime) => runtime,
        Err(reason) => {
            assert!(reason.contains("podman: ") && reason.contains("docker: "), "{reason}");
            println!("skipped: {reason}");
            return;
        }
    };
    assert!(runtime.describe().starts_with(&runtime.program));
    let binary = dir.path().join("server");
    write_executable(&binary, &says_its_text().unwrap()).unwrap();
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docker/server.Dockerfile");
    let reference = format!("localhost/plumbkv-bench-test:{}", std::process::id());
    let image = prepare_image(&runtime, &binary, &dockerfile, &reference).unwrap();
    assert_eq!(image.binary_sha256, sha256_file(&binary).unwrap());
    assert!(image.digest.starts_with("sha256:") && image.bytes > 0);
    let request =
        Request { image: &reference, memory_bytes: MEMORY_BYTES, io_uring: true, ..Request::default() };
    // The probe ends as soon as it has answered, which is not what a server does; whether that is seen at its
    // start or only later depends on how busy the machine is.
    let said = match runtime.start(&request) {
        Err(reason) => reason,
        Ok(container) => {
            let end = std::time::Instant::now() + Duration::from_secs(10);
            while Path::new(&format!("/proc/{}", container.pid)).exists() && std::time::Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            container.last_words()
        }
    };
    assert!(said.ends_with(PROBE_TEXT.trim()), "{said}");
    // By the image, too: other tests of this process have containers of their own at the same time.
    let (label, image) = (format!("label={LABEL}={}", std::process::id()), format!("ancestor={reference}"));
    let left = runtime.call(&["ps", "-a", "-q", "--filter", &label, "--filter", &image], SHORT).unwrap();
    assert_eq!(left.stdout.trim(), "");
    assert!(runtime.call(&["rmi", "-f", &reference], SHORT).unwrap().success);
}

/// The profile is judged by what a program in the container is answered, not by what the runtime was asked for.
#[test]
fn io_uring_is_refused_in_a_container_under_the_profile_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let (Ok(runtime), Some(program)) = (detect(dir.path()), asks_for_io_uring()) else { return };
    write_executable(&dir.path().join("probe"), &program).unwrap();
    let dockerfile = dir.path().join("Dockerfile");
    std::fs::write(&dockerfile, "FROM scratch\nCOPY probe /probe\nENTRYPOINT [\"/probe\"]\n").unwrap();
    let reference = format!("localhost/plumbkv-bench-uring:{}", std::process::id());
    let (file, folder) = (dockerfile.display().to_string(), dir.path().display().to_string());
    runtime.build(&["-f", &file, "-t", &reference, &folder]).unwrap();
    let label = format!("{LABEL}={}", std::process::id());
    let errno_under = |profile: &Path| {
        let profile = format!("seccomp={}", profile.display());
        let mut all = vec!["run", "--rm", "--pull=never", "--network", "none", "--label", &label];
        all.extend(["--security-opt", &profile]);
        all.extend(runtime.extra.iter().map(String::as_str));
        all.push(&reference);
        runtime.call(&all, LONG).unwrap().code
    };
    let without = errno_under(runtime.profiles.without_io_uring.as_ref().unwrap());
    let with = runtime.profiles.with_io_uring.as_ref().map(|profile| errno_under(profile));
    let bare = run(&dir.path().join("probe").display().to_string(), &[], SHORT).unwrap().code;
    let _ = runtime.call(&["rmi", "-f", &reference], SHORT);
    assert_eq!(without, Some(38), "ENOSYS");
    // Outside, the kernel itself says whether it has io_uring: EFAULT, for it looked at the arguments.
    if let Some(with) = with {
        assert_eq!(with, bare);
    }
}

#[test]
fn a_dynamic_binary_is_refused_before_anything_is_built() {
    let binary = std::env::current_exe().unwrap();
    let error = prepare_image(&runtime(), &binary, Path::new("/nowhere"), "x").unwrap_err();
    assert!(error.to_string().contains("is not static"), "{error}");
}
