//! A child process of a test, killed by SIGKILL.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts the test `child` of this test binary with these variables, kills it after a while, and returns
/// its standard output.
pub(crate) fn kill_after(lifetime: Duration, variables: &[(&str, &std::ffi::OsStr)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    std::thread::sleep(lifetime);
    // By its own handle: the SIGKILL reaches this child and no other process.
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_none(), "the child ended by itself: {errors}");
    reader.join().unwrap().unwrap()
}
