//! Programs under valgrind must not ask the kernel for their auxiliary vector.
//!
//! `prctl(PR_GET_AUXV)`, of Linux 6.4, tells where the kernel put the vDSO. valgrind (3.19 at least) passes the call on but maps
//! no vDSO, and a program that reads it there ends with SIGSEGV; rustix does. Where the call is refused, as older kernels do,
//! it reads /proc/self/auxv, which valgrind answers.

use anyhow::{anyhow, bail};

/// Not in libc for every target.
#[cfg(target_os = "linux")]
const PR_GET_AUXV: u64 = 0x4155_5856;

/// Does `work` in a thread of its own, whose children cannot ask for the vector.
pub(super) fn hidden<T: Send>(work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    let refusing = || {
        // Where no filter can be set, a newer valgrind or an older kernel may do without.
        let _ = refuse();
        work()
    };
    std::thread::scope(|scope| match scope.spawn(refusing).join() {
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
    let filter = SeccompFilter::new(
        [(libc::SYS_prctl, vec![SeccompRule::new(vec![asks])?])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EINVAL as u32),
        std::env::consts::ARCH.try_into().map_err(|_| anyhow!("no filters for this processor"))?,
    )?;
    Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
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
        assert_eq!(hidden(filters).unwrap(), before + 1);
        assert_eq!(filters().unwrap(), before);
    }

    #[test]
    fn an_error_and_a_panic_inside_are_errors() {
        assert!(hidden(|| -> anyhow::Result<()> { bail!("no") }).is_err());
        assert!(hidden(|| -> anyhow::Result<()> { panic!("on purpose") }).is_err());
    }
}
