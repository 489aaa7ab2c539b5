//! How is a native target started so that nothing of it can be left behind?
//!
//! A process group of its own, pinned and moved into its cgroup before its program begins, killed by the kernel
//! should the runner die, and ended by its own process id.

use super::own_cgroup::{Limit, OwnCgroup};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use rustix::thread::CpuSet;
use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How much of what a target prints is kept for the reason of a failure, bytes.
const KEPT_OUTPUT_BYTES: usize = 16 * 1024;
/// How long a target may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A native process of our own.
#[derive(Debug)]
pub(crate) struct NativeProcess {
    child: Child,
    output: Arc<Mutex<VecDeque<u8>>>,
    ended: bool,
    /// Held for its end: it can only be removed when its process is gone, so it is dropped last.
    #[cfg_attr(not(test), expect(dead_code, reason = "held, not read"))]
    cgroup: Option<OwnCgroup>,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A number that no other start of this runner has.
pub(crate) fn next_number() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a program is spoken to through.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
}

/// A program to start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// Environment variables besides the runner's own.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it begins; the runner's own folder if none.
    pub(crate) directory: Option<PathBuf>,
    /// The CPU it is held on; any if none.
    pub(crate) cpu: Option<u32>,
    /// What it is held to.
    pub(crate) limit: Option<Limit>,
}

#[cfg(test)]
impl Launch {
    /// A program with arguments and nothing else.
    pub(crate) fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { program: program.into(), arguments, ..Self::default() }
    }
}

impl NativeProcess {
    /// Starts a program. It dies with the thread that calls this.
    pub(crate) fn spawn(launch: &Launch) -> Result<Self, String> {
        Self::spawn_with(launch, Stdio::null(), None)
    }

    /// Starts a program that is spoken to: only what it prints as errors is kept as its last words.
    pub(crate) fn spawn_talking(launch: &Launch) -> Result<(Self, Pipes), String> {
        let mut process = Self::spawn_with(launch, Stdio::piped(), Some(Stdio::piped()))?;
        match (process.child.stdin.take(), process.child.stdout.take()) {
            (Some(input), Some(output)) => Ok((process, Pipes { input, output })),
            _ => Err(format!("cannot speak to {}: it has no pipes", launch.program.display())),
        }
    }

    /// `output` none: both outputs are its last words.
    fn spawn_with(launch: &Launch, input: Stdio, output: Option<Stdio>) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("cannot start {}: {error}", launch.program.display());
        let cgroup = match launch.limit {
            Some(limit) => Some(OwnCgroup::limiting(next_number(), limit)?),
            None => OwnCgroup::counting(next_number()),
        };
        let procs = cgroup.as_ref().map(OwnCgroup::procs).unwrap_or_default();
        let must_move = launch.limit.is_some();
        let (mut reader, writer) = std::io::pipe().map_err(told)?;
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(input)
            .stdout(match output {
                Some(output) => output,
                None => writer.try_clone().map_err(told)?.into(),
            })
            .stderr(writer)
            .process_group(0);
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        let cpus = launch.cpu.map(|cpu| {
            let mut set = CpuSet::new();
            set.set(cpu as usize);
            set
        });
        // SAFETY: between fork and exec only system calls are made, on values that were built before the fork.
        unsafe {
            command.pre_exec(move || {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                if let Some(set) = &cpus {
                    rustix::thread::sched_setaffinity(None, set)?;
                }
                for file in &procs {
                    let moved = rustix::io::write(file, b"0");
                    // Only for counting it is best effort: CPU time is then read from the processes themselves.
                    if must_move {
                        moved?;
                    }
                }
                Ok(())
            });
        }
        let child = command.spawn().map_err(told)?;
        // The command holds the write end of the pipe: without it the reader never sees the end.
        drop(command);
        let output = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                let Ok(mut kept) = kept.lock() else { return };
                kept.extend(&piece[..count]);
                let surplus = kept.len().saturating_sub(KEPT_OUTPUT_BYTES);
                kept.drain(..surplus);
            }
        });
        Ok(Self { child, output, ended: false, cgroup })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn exit(&mut self) -> Option<String> {
        if self.has_ended() {
            Some(self.child.try_wait().ok().flatten().map_or_else(String::new, |status| status.to_string()))
        } else {
            None
        }
    }

    /// The last line it printed.
    pub(crate) fn last_words(&self) -> Option<String> {
        // What it printed right before its end may still be on the way through the pipe.
        std::thread::sleep(Duration::from_millis(20));
        let kept = self.output.lock().ok()?;
        let bytes: Vec<u8> = kept.iter().copied().collect();
        super::command::last_line(&String::from_utf8_lossy(&bytes))
    }

    /// Whether it has its own cgroup.
    #[cfg(test)]
    pub(crate) fn has_cgroup(&self) -> bool {
        self.cgroup.is_some()
    }

    /// Ended, but its process id not yet given back.
    fn has_ended(&self) -> bool {
        let Some(pid) = pid_of(self.child.id()) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(rustix::process::waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// SIGKILL, to it and whatever else is in its process group.
    pub(crate) fn kill(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(pid) = pid_of(self.child.id()) {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, a while of patience, SIGKILL; then whatever else is in its process group.
    pub(crate) fn stop(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(pid) = pid_of(self.child.id()) {
            let end = Instant::now() + PATIENCE;
            if !self.has_ended() {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
            while !self.has_ended() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Until it is waited for, its id and its group's id belong to nobody else.
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for NativeProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

fn pid_of(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// A port of 127.0.0.1 that nobody listens on at this moment.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0));
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(|error| format!("no free port on 127.0.0.1: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> NativeProcess {
        NativeProcess::spawn(&Launch::new("/bin/sh", &["-c", script])).unwrap()
    }

    fn alive(pid: u32) -> bool {
        let state = crate::target::cgroup::status_field(pid, "State");
        state.is_some_and(|state| !state.starts_with('Z'))
    }

    #[test]
    fn one_that_ignores_sigterm_is_killed_and_so_are_its_children() {
        let mut process = shell("trap '' TERM; sleep 60 & echo $!; wait; wait");
        std::thread::sleep(Duration::from_millis(200));
        let child: u32 = process.last_words().unwrap().parse().unwrap();
        let pid = process.pid();
        assert!(alive(child));
        let start = Instant::now();
        process.stop();
        assert!(start.elapsed() >= PATIENCE && start.elapsed() < PATIENCE * 2);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!alive(pid) && !alive(child));
    }

    #[test]
    fn environment_and_folder_are_the_ones_given() {
        let launch = Launch {
            environment: vec![("PLUMB".to_owned(), "kv".to_owned())],
            directory: Some("/usr".into()),
            ..Launch::new("/bin/sh", &["-c", "echo $PLUMB in $(pwd)"])
        };
        let process = NativeProcess::spawn(&launch).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(process.last_words().as_deref(), Some("kv in /usr"));
    }

    #[test]
    fn the_last_line_and_the_exit_are_told() {
        let mut process = shell("echo one; echo 'cannot listen' >&2; exit 3");
        std::thread::sleep(Duration::from_millis(200));
        assert!(process.exit().unwrap().contains('3'));
        assert_eq!(process.last_words().as_deref(), Some("cannot listen"));
    }

    #[test]
    fn it_runs_on_the_cpu_it_was_given() {
        let Some((cpu, _)) = crate::target::choose_cpus() else { return };
        let process =
            NativeProcess::spawn(&Launch { cpu: Some(cpu), ..Launch::new("/bin/sleep", &["5"]) }).unwrap();
        let allowed = crate::target::cgroup::status_field(process.pid(), "Cpus_allowed_list");
        assert_eq!(allowed, Some(cpu.to_string()));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = NativeProcess::spawn(&Launch::new("/nowhere/x", &[])).unwrap_err();
        assert!(error.contains("/nowhere/x"), "{error}");
    }
}
