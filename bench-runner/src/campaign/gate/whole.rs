//! Is a program all that it executes? A script starts other files, and a program can load shared objects of its own project: the
//! same bytes can then be another server.

use std::path::Path;
use std::process::{Command, Stdio};

/// Why a program can be another server with the same bytes; none where it cannot be.
pub(super) fn loads(program: &Path) -> Option<String> {
    if is_script(program) {
        return Some("it is a script, which starts other files".to_owned());
    }
    let dynamic =
        Command::new("readelf").args(["--wide", "--dynamic"]).arg(program).stderr(Stdio::null()).output();
    match dynamic {
        Ok(output) if output.status.success() => of_dynamic(&String::from_utf8_lossy(&output.stdout)),
        _ => Some("which shared objects it loads is not known without readelf (package binutils)".to_owned()),
    }
}

/// Whether it is no program of the kernel's format.
pub(super) fn is_script(program: &Path) -> bool {
    let mut magic = [0; 4];
    let read =
        std::fs::File::open(program).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_err() || magic != *b"\x7fELF"
}

/// From what `readelf --dynamic` prints. The libraries of the system are the same for both sides; another search path is not.
fn of_dynamic(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let value =
            line.split_once('[').and_then(|(_, rest)| rest.rsplit_once(']')).map(|(value, _)| value)?;
        if line.contains("(RPATH)") || line.contains("(RUNPATH)") {
            return Some(format!("it searches {value} for shared objects"));
        }
        (line.contains("(NEEDED)") && value.contains('/')).then(|| format!("it loads {value}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_and_a_program_with_a_search_path_of_its_own_are_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.sh");
        std::fs::write(&script, "#!/bin/sh\nexec ./server\n").unwrap();
        assert!(loads(&script).unwrap().contains("script"));
        assert!(loads(&folder.path().join("none")).is_some());
        let built = |name: &str, words: &[&str]| {
            std::fs::write(folder.path().join("own.c"), "int main(void) { return 0; }\n").unwrap();
            let program = folder.path().join(name);
            let mut compiler = Command::new("cc");
            compiler.arg("own.c").arg("-o").arg(&program).args(words).current_dir(folder.path());
            assert!(compiler.status().unwrap().success());
            loads(&program)
        };
        assert_eq!(built("plain", &[]), None);
        assert!(built("search", &["-Wl,-rpath,$ORIGIN/lib"]).unwrap().contains("$ORIGIN/lib"));
    }

    #[test]
    fn what_is_loaded_by_a_path_is_not_of_the_system() {
        let line = |tag: &str, text: &str| format!(" 0x0000000000000001 ({tag})   {text}\n");
        let system = line("NEEDED", "Shared library: [libc.so.6]") + &line("INIT", "0x4000");
        assert_eq!(of_dynamic(&system), None);
        let own = system.clone() + &line("NEEDED", "Shared library: [build/libengine.so]");
        assert!(of_dynamic(&own).unwrap().contains("build/libengine.so"));
        let old = system + &line("RPATH", "Library rpath: [/home/x/[y]/build]");
        assert!(of_dynamic(&old).unwrap().contains("/home/x/[y]/build"));
    }
}
