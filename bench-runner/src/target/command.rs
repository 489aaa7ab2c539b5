//! How is another program run to its end without waiting for ever?

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a program that ended left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Its exit code; none where a signal ended it.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests judge a system call by it"))]
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// The last line that says anything, of the errors if there are any.
    pub(crate) fn last_line(&self) -> String {
        last_line(&self.stderr).or_else(|| last_line(&self.stdout)).unwrap_or_else(|| "no output".to_owned())
    }
}

/// The last line with anything in it.
pub(crate) fn last_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// Runs a program for at most `limit`; kills that very process when it takes longer.
pub(crate) fn run(program: &str, arguments: &[&str], limit: Duration) -> Result<Finished, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // An interrupt from the keyboard is for the runner, which then cleans up with such programs.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                let what = arguments.first().copied().unwrap_or_default();
                return Err(format!("{program} {what} did not end within {} s", limit.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait for {program}: {error}")),
        }
    };
    // A daemon that the program left behind may hold its pipes open: what has come by now is enough.
    let text = |receiver: std::sync::mpsc::Receiver<Vec<u8>>| {
        let bytes = receiver.recv_timeout(Duration::from_secs(2)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Finished {
        success: status.success(),
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// Writes a file that may be run.
pub(crate) fn write_executable(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let start = Instant::now();
        let error = run("sleep", &["30"], Duration::from_millis(100)).unwrap_err();
        assert!(error.contains("did not end"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn the_last_line_of_the_errors_is_kept() {
        let done = run("sh", &["-c", "echo out; echo one >&2; echo two >&2; exit 3"], Duration::from_secs(5))
            .unwrap();
        assert!(!done.success);
        assert_eq!(done.last_line(), "two");
    }
}
