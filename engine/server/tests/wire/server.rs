//! How does a test start a server, learn its port, and be sure that it ends?

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::client::Client;

/// Longest wait for a server to listen or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, killed when the test ends.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
    /// Where it keeps its keys when `TEST_STORE` says so; goes with it.
    _data: Option<tempfile::TempDir>,
}

/// Whether servers keep their keys in a directory of their own: `TEST_STORE=durable`. The same tests hold, but for those that ask here.
pub(crate) fn is_durable() -> bool {
    std::env::var("TEST_STORE").is_ok_and(|store| store == "durable")
}

/// Whether a test has to be left out, since it is about what only a store in memory does: evict, or count what keys take of the cap.
pub(crate) fn is_left_out() -> bool {
    if is_durable() {
        eprintln!("left out: of a store in memory");
    }
    is_durable()
}

/// `plumbkv` with these arguments and none of the caller's settings but the back end, which `TEST_IO` chooses: the same tests hold for each.
/// Without HTTP: the tests run side by side, and its port is one.
pub(crate) fn plumbkv(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumbkv"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PLUMBKV_") {
            command.env_remove(name);
        }
    }
    command.args(args).stdin(Stdio::null());
    command.env("PLUMBKV_HTTP", "off");
    if let Ok(io) = std::env::var("TEST_IO") {
        command.env("PLUMBKV_IO", io);
    }
    if let Ok(threads) = std::env::var("TEST_IO_THREADS") {
        command.env("PLUMBKV_IO_THREADS", threads);
    }
    command
}

impl Server {
    /// A server on a free port of 127.0.0.1, with these further arguments.
    pub(crate) fn start(args: &[&str]) -> Server {
        let mut all = vec!["serve", "--listen", "127.0.0.1:0"];
        all.extend_from_slice(args);
        Server::spawn(plumbkv(&all))
    }

    /// The server that `command` starts, once it says that it is ready.
    pub(crate) fn spawn(mut command: Command) -> Server {
        let is_placed = command.get_args().any(|argument| argument == "--data");
        let data = (is_durable() && !is_placed).then(|| tempfile::tempdir().unwrap());
        if let Some(data) = &data {
            command.env("PLUMBKV_DATA", data.path());
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // Ends with the server: its end closes the pipe.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Server { child, port: 0, lines, seen: Vec::new(), _data: data };
        let ready = server.wait_for_line("plumbkv ready: ");
        let port = ready.split("resp tcp ").nth(1).and_then(|rest| {
            let address = rest.split([' ', ',']).next()?;
            address.rsplit(':').next()?.parse().ok()
        });
        server.port = port.unwrap_or_default();
        server
    }

    /// Waits for a line of standard error that holds `part`.
    pub(crate) fn wait_for_line(&mut self, part: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with {part:?} ({error}); the server said {:#?}", self.seen),
            }
        }
    }

    /// What has become of it, where a connection ended that should not have.
    pub(crate) fn last_words(&mut self) -> String {
        let end = self.child.try_wait();
        self.seen.extend(self.lines.try_iter());
        format!("the server's end: {end:?}; it said {:#?}", self.seen)
    }

    /// All that was said up to the last line waited for.
    pub(crate) fn said(&self) -> &[String] {
        &self.seen
    }

    pub(crate) fn client(&self) -> Client {
        Client::tcp(("127.0.0.1", self.port))
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Waits for the server to end by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server did not end within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A server that is still there, and still answers.
    pub(crate) fn assert_alive(&mut self) {
        assert_eq!(self.child.try_wait().unwrap(), None, "the server ended");
        self.client().check("PING", b"+PONG\r\n");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone where the test waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is expected to refuse to start: its exit code and its standard error.
pub(crate) fn refused(mut command: Command) -> (i32, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("the server started although it should have refused to");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

/// Waits until `done` is true.
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "after {PATIENCE:?} still not: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A real redis-server on a free port, killed when the test ends; `None` where none is installed.
///
/// In CI its absence fails the test: a comparison that silently stops comparing is worse than none.
pub(crate) struct Redis {
    child: Child,
    pub(crate) port: u16,
}

impl Redis {
    pub(crate) fn start(args: &[&str]) -> Option<Redis> {
        const BINARY: &str = "/usr/bin/redis-server";
        if !Path::new(BINARY).exists() {
            let ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!ci, "{BINARY} is not installed; CI needs it (apt-get install redis-server)");
            eprintln!("skipped: {BINARY} is not installed, nothing to compare with");
            return None;
        }
        // Redis cannot choose a free port itself, and another process may take the one found here first.
        for _ in 0..5 {
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let folder = std::env::temp_dir();
            let mut child = Command::new(BINARY)
                .args([
                    "--port",
                    &port.to_string(),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                ])
                .args(["--dir", folder.to_str().unwrap()])
                .args(args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let deadline = Instant::now() + PATIENCE;
            while Instant::now() < deadline && child.try_wait().unwrap().is_none() {
                if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(Redis { child, port });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("{BINARY} did not start in five attempts");
    }

    pub(crate) fn client(&self) -> Client {
        Client::tcp(("127.0.0.1", self.port))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
