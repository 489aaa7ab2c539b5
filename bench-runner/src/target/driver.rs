//! How is a driver program started and spoken to? One workload in, one message per line out.

use super::cgroup::Cgroups;
use super::cpu_time::Source;
use super::memory::rss_bytes;
use super::own_cgroup::Limit;
use super::process::{Launch, NativeProcess};
use super::running::{held_to, native_facts};
use crate::model::ProcessFacts;
use plumbkv_bench_driver::protocol::{Message, Workload};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A driver to start.
pub(crate) struct DriverStart<'a> {
    pub(crate) program: &'a Path,
    /// The CPU it is held on; any if none.
    pub(crate) cpu: Option<u32>,
    /// Limit of its memory, page cache charged, bytes.
    pub(crate) memory_limit_bytes: Option<u64>,
    pub(crate) workload: &'a Workload,
}

/// A driver that has its workload.
#[derive(Debug)]
pub(crate) struct RunningDriver {
    pub(crate) pid: u32,
    /// Where its CPU time is read.
    pub(crate) cpu: Source,
    process: NativeProcess,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// Why there is no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The runner was told to stop.
    Stopped,
    /// It took too long.
    TimedOut,
    /// It ended, or said something that is no message.
    Broken(String),
}

impl RunningDriver {
    /// Starts the program and hands it its workload.
    ///
    /// # Errors
    /// It cannot be started, or does not take its workload.
    pub(crate) fn start(wanted: &DriverStart<'_>) -> Result<Self, String> {
        let limit = wanted.memory_limit_bytes.map(|memory_bytes| Limit { cpus: None, memory_bytes });
        let launch =
            Launch { program: wanted.program.to_owned(), cpu: wanted.cpu, limit, ..Launch::default() };
        let (process, pipes) = NativeProcess::spawn_talking(&launch)?;
        if let Some(limit) = limit {
            held_to(limit, &Cgroups::new().limits(process.pid()))?;
        }
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipes.output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let pid = process.pid();
        let mut driver = Self { pid, cpu: Source::of(pid), process, input: pipes.input, lines };
        let text = serde_json::to_string(wanted.workload).map_err(|error| error.to_string())?;
        driver.write(&text)?;
        Ok(driver)
    }

    fn write(&mut self, line: &str) -> Result<(), String> {
        let written = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        written.map_err(|error| match self.last_words() {
            Some(words) => words,
            None => format!("it takes no input: {error}"),
        })
    }

    /// Lets the phase begin that it waits for.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn go_on(&mut self) -> Result<(), String> {
        self.write("go")
    }

    /// What it says next, waiting until `deadline` or until `stop` is set.
    pub(crate) fn next(&mut self, deadline: Instant, stop: &AtomicBool) -> Result<Message, Silence> {
        loop {
            match self.lines.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => {
                    let refused = |error| Silence::Broken(format!("it said {line:?}: {error}"));
                    return serde_json::from_str(&line).map_err(refused);
                }
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err(Silence::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => return Err(Silence::TimedOut),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let words = self.last_words();
                    let words = words.unwrap_or_else(|| "it ended without a word".to_owned());
                    return Err(Silence::Broken(words));
                }
            }
        }
    }

    fn last_words(&self) -> Option<String> {
        self.process.last_words()
    }

    /// Ends it at once, by SIGKILL.
    pub(crate) fn kill(mut self) {
        self.process.kill();
    }

    /// Resident memory, bytes.
    pub(crate) fn rss_bytes(&self) -> u64 {
        rss_bytes(self.pid)
    }

    /// What the kernel says of the process.
    pub(crate) fn facts(&self, rss_bytes_start: u64, generator_cpus: String) -> ProcessFacts {
        native_facts(self.pid, &self.cpu, rss_bytes_start, generator_cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbkv_bench_driver::protocol::{
        EngineOptions, KeySchema, Records, SCHEMA_VERSION, SyncMode, ValueKind, WORKLOAD_SCHEMA,
    };
    use std::os::unix::fs::PermissionsExt;

    fn driver(script: &str) -> (tempfile::TempDir, RunningDriver) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("driver");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let workload = Workload {
            schema: WORKLOAD_SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            seed: 1,
            draw_seed: 0,
            engine: EngineOptions::new("/", None, SyncMode::Never),
            records: Records {
                count: 1,
                value_bytes: 1,
                values: ValueKind::Incompressible,
                keys: KeySchema::OneFamily,
            },
            phases: Vec::new(),
        };
        let driver = RunningDriver::start(&DriverStart {
            program: &program,
            cpu: None,
            memory_limit_bytes: None,
            workload: &workload,
        });
        (folder, driver.unwrap())
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn messages_come_one_by_one_and_wait_for_their_lines() {
        let stop = AtomicBool::new(false);
        let script =
            "read workload\necho '{\"type\":\"waiting\",\"phase\":0}'\nread go\necho '{\"type\":\"done\"}'";
        let (_folder, mut driver) = driver(script);
        assert_eq!(driver.next(soon(), &stop), Ok(Message::Waiting { phase: 0 }));
        assert_eq!(driver.next(Instant::now(), &stop), Err(Silence::TimedOut));
        driver.go_on().unwrap();
        assert_eq!(driver.next(soon(), &stop), Ok(Message::Done));
    }

    #[test]
    fn its_last_words_are_the_reason_when_it_ends_early() {
        let stop = AtomicBool::new(false);
        let (_folder, mut driver) = driver("read workload\necho 'redb driver: no space left' >&2\nexit 1");
        let silence = driver.next(soon(), &stop);
        assert_eq!(silence, Err(Silence::Broken("redb driver: no space left".to_owned())));
    }

    #[test]
    fn a_line_that_is_no_message_is_told() {
        let stop = AtomicBool::new(false);
        let (_folder, mut driver) = driver("read workload\necho hello\nread more");
        match driver.next(soon(), &stop) {
            Err(Silence::Broken(text)) => assert!(text.contains("hello"), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn being_told_to_stop_ends_the_waiting() {
        let (_folder, mut driver) = driver("read workload\nread more");
        assert_eq!(driver.next(soon(), &AtomicBool::new(true)), Err(Silence::Stopped));
    }
}
