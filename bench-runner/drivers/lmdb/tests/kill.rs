//! Does an acknowledged write survive the process that made it?

#[test]
fn what_was_acknowledged_survives_sigkill() {
    let folder = tempfile::tempdir().unwrap();
    let driver = env!("CARGO_BIN_EXE_plumbkv-driver-lmdb");
    let done =
        std::process::Command::new(driver).args(["--kill-test", "10"]).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("all there"),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
