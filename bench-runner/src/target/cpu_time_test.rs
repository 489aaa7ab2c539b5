//! Known amounts of CPU time, burned in threads and children that live on and in some that end before the reading.

use super::*;
use crate::target::process::{Launch, NativeProcess};
use std::process::Command;
use std::time::{Duration, Instant};

/// Set for this very test program when it is started as the target: what it is to be, and where it reports.
const ROLE: &str = "PLUMBKV_BURNER_ROLE";
const REPORT: &str = "PLUMBKV_BURNER_REPORT";
const BURN: Duration = Duration::from_millis(500);

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Burns CPU time in user mode and in the kernel, and says how much by the thread's own clock.
fn burn() -> u64 {
    let begin = thread_cpu();
    let mut number = 1u64;
    while thread_cpu() - begin < BURN {
        for _ in 0..10_000 {
            number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let _ = fs::metadata("/proc/self/stat");
    }
    (thread_cpu() - begin).as_nanos() as u64
}

fn child(role: &str, report: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "target::cpu_time::tests::burner", "--nocapture"])
        .env(ROLE, role)
        .env(REPORT, report)
        .spawn()
        .unwrap()
}

fn wait_for(report: &Path) -> u64 {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(burned) = read_u64(report) {
            return burned;
        }
        assert!(Instant::now() < end, "no report at {}", report.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Complete when it appears.
fn report(path: &Path, burned: u64) {
    let part = path.with_extension("part");
    fs::write(&part, burned.to_string()).unwrap();
    fs::rename(part, path).unwrap();
}

/// Not a test of its own: the target of the one below. Without a role it is done at once.
#[test]
fn burner() {
    let (Ok(role), Ok(path)) = (std::env::var(ROLE), std::env::var(REPORT)) else { return };
    let path = PathBuf::from(path);
    let linger = || std::thread::sleep(Duration::from_secs(60));
    match role.as_str() {
        "ends" => report(&path, burn()),
        "lives" => {
            report(&path, burn());
            linger();
        }
        _ => {
            let ended_thread = std::thread::spawn(burn).join().unwrap();
            let (sender, receiver) = std::sync::mpsc::channel();
            let living_thread = std::thread::spawn(move || {
                sender.send(burn()).unwrap();
                linger();
            });
            let mut burned = ended_thread + receiver.recv().unwrap();
            let (first, second) = (path.with_extension("first"), path.with_extension("second"));
            let status = child("ends", &first).wait().unwrap();
            assert!(status.success());
            let mut living_child = child("lives", &second);
            burned += wait_for(&first) + wait_for(&second);
            report(&path, burned);
            // Neither ends of its own accord within the test: the target is stopped with both still there.
            living_thread.join().unwrap();
            living_child.wait().unwrap();
        }
    }
}

fn assert_within_two_percent(source: &Source, burned: u64) {
    let read = source.read().unwrap().total_ns;
    let off = (read as f64 - burned as f64) / burned as f64;
    println!("{}: {read} ns read, {burned} ns burned: {:+.3} %", source.name(), off * 100.0);
    assert!(off.abs() < 0.02, "{}: {read} ns read, {burned} ns burned", source.name());
}

#[test]
fn time_burned_in_threads_and_children_is_read_within_two_percent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("burned");
    let script = format!(
        "exec env {ROLE}=target {REPORT}={} {} --exact target::cpu_time::tests::burner --nocapture",
        path.display(),
        std::env::current_exe().unwrap().display()
    );
    let mut target = NativeProcess::spawn(&Launch::new("/bin/sh", &["-c", &script])).unwrap();
    let burned = wait_for(&path);
    assert!(burned >= 4 * BURN.as_nanos() as u64);
    assert_within_two_percent(&Source::Processes(target.pid()), burned);
    // The trap: the first thread alone has hardly used any.
    let leader = fs::read_to_string(format!("/proc/{}/schedstat", target.pid())).unwrap();
    let leader: u64 = leader.split_whitespace().next().unwrap().parse().unwrap();
    assert!(leader < burned / 10, "{leader}");
    if target.has_cgroup() {
        let source = Source::own_cgroup(target.pid()).unwrap();
        assert_within_two_percent(&source, burned);
    } else {
        println!("no cgroup may be made here: only the process clocks were looked at");
    }
    target.stop();
}

/// As daemons do: its parent is process 1 then, and no walk through the tree finds it.
#[test]
fn a_helper_that_leaves_the_process_tree_is_counted_and_ended() {
    let script = "setsid -f sh -c 'while :; do :; done'; exec sleep 60";
    let mut target = NativeProcess::spawn(&Launch::new("/bin/sh", &["-c", script])).unwrap();
    if !target.has_cgroup() {
        println!("no cgroup may be made here: such a helper cannot be found");
        target.stop();
        return;
    }
    let source = Source::of(target.pid());
    let (Source::Cpuacct(folder, _) | Source::CpuStat(folder)) = source.clone() else { panic!("{source:?}") };
    let end = Instant::now() + Duration::from_secs(20);
    while source.read().unwrap().total_ns < 100_000_000 {
        assert!(Instant::now() < end, "the helper's CPU time is not counted: {:?}", source.read());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Source::Processes(target.pid()).read().unwrap().total_ns < 50_000_000, "it is no descendant");
    target.stop();
    drop(target);
    assert!(!folder.exists(), "the helper runs on in {}", folder.display());
}

#[test]
fn a_cgroup_that_others_share_is_not_taken_for_the_targets_own() {
    let mut other = Command::new("sleep").arg("5").spawn().unwrap();
    assert_eq!(Source::own_cgroup(other.id()), None);
    assert_eq!(Source::of(other.id()), Source::Processes(other.id()));
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn version_2_is_read_from_cpu_stat() {
    let dir = tempfile::tempdir().unwrap();
    let text = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 4\nthrottled_usec 70\n";
    fs::write(dir.path().join("cpu.stat"), text).unwrap();
    let read = Source::CpuStat(dir.path().to_owned()).read().unwrap();
    let expected =
        CpuTime { total_ns: 1_500_000, user_ns: 1_000_000, system_ns: 500_000, throttled_ns: 70_000 };
    assert_eq!(read, expected);
}

#[test]
fn what_a_server_says_of_itself_is_read_in_seconds() {
    let info = "# CPU\r\nused_cpu_sys:1.250000\r\nused_cpu_user:2.5\r\nused_cpu_sys_children:9\r\n";
    let read = parse_info(info).unwrap();
    assert_eq!((read.total_ns, read.user_ns, read.system_ns), (3_750_000_000, 2_500_000_000, 1_250_000_000));
    assert_eq!(parse_info("# Server\r\n"), None);
}
