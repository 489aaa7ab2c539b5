//! Calls of the kernel that valgrind (3.19 at least) passes on and cannot stand. They are refused to what it runs, as an older
//! kernel would, and programs take the other way.
//!
//! - `prctl(PR_GET_AUXV)`, of Linux 6.4, tells where the kernel put the vDSO. valgrind maps none, and a program that reads
//!   it there ends with SIGSEGV; rustix does. Refused, it reads /proc/self/auxv, which valgrind answers.
//! - A program that waits in `io_uring_enter` is not reached by a signal: told to end, it waits on, and writes no counts.
//!   Refused, our server waits by epoll. Instructions of input and output are those of epoll therefore.

use anyhow::{anyhow, bail};

/// Not in libc for every target.
#[cfg(target_os = "linux")]
const PR_GET_AUXV: u64 = 0x4155_5856;

/// Does `work` in a thread of its own, to whose children the calls are refused.
pub(super) fn refusing<T: Send>(work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    let filtered = || {
        // Where no filter can be set, a newer valgrind or an older kernel may do without.
        let _ = refuse();
        work()
    };
    std::thread::scope(|scope| match scope.spawn(filtered).join() {
        Ok(done) => done,
        Err(_) => bail!("the thread that counts ended with a panic"),
    })
}

#[cfg(target_os = "linux")]
fn refuse() -> anyhow::Result<()> {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };
    let asks = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PR_GET_AUXV)?;
    // Each error is that of a kernel which does not know the call.
    for (call, rules, error) in [
        (libc::SYS_prctl, vec![SeccompRule::new(vec![asks])?], libc::EINVAL),
        (libc::SYS_io_uring_setup, Vec::new(), libc::ENOSYS),
    ] {
        let filter = SeccompFilter::new(
            [(call, rules)].into(),
            SeccompAction::Allow,
            SeccompAction::Errno(error as u32),
            std::env::consts::ARCH.try_into().map_err(|_| anyhow!("no filters for this processor"))?,
        )?;
        seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn refuse() -> anyhow::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn children_of_the_thread_are_filtered_and_others_are_not() {
        let filters = || {
            let done = std::process::Command::new("grep")
                .args(["Seccomp_filters:", "/proc/self/status"])
                .output()?;
            let text = String::from_utf8(done.stdout)?;
            Ok(text.rsplit('\t').next().unwrap_or("").trim().parse::<u32>()?)
        };
        let before = filters().unwrap();
        assert_eq!(refusing(filters).unwrap(), before + 2);
        assert_eq!(filters().unwrap(), before);
    }

    #[test]
    fn an_error_and_a_panic_inside_are_errors() {
        assert!(refusing(|| -> anyhow::Result<()> { bail!("no") }).is_err());
        assert!(refusing(|| -> anyhow::Result<()> { panic!("on purpose") }).is_err());
    }
}
