//! Where base and head are started: two programs with names of the same length, beside each other.
//!
//! The kernel puts a program's own path on its stack, so another length moves the stack, and with it the program's figures.

use super::super::begin::target_triple;
use super::super::bench::Bench;
use super::builds::Programs;
use super::layout::{Link, Shuffler};
use super::{Options, catalogue_of};
use crate::measure::Lab;
use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Names of the programs.
const NAMES: [&str; 2] = ["base", "head"];

/// Where base and head are started, and the folder they work in.
pub(super) struct Labs {
    all: [Lab; 2],
    /// Of each side: what it is linked from, and the program that is made of it. Absent: its layout stays as it was built.
    layouts: [Option<(Link, PathBuf)>; 2],
    shuffler: Option<Shuffler>,
    /// Why programs that could be linked again were not.
    pub(super) refused: Option<String>,
    _bench: Bench,
}

impl Labs {
    pub(super) fn sides(&self) -> [&Lab; 2] {
        self.all.each_ref()
    }

    /// Whether both sides are given new layouts.
    pub(super) fn has_layouts(&self) -> bool {
        self.shuffler.is_some() && self.layouts.iter().all(Option::is_some)
    }

    /// New layouts of both sides.
    pub(super) fn shuffle(&self, random: &mut fastrand::Rng) -> anyhow::Result<()> {
        if let Some(shuffler) = self.shuffler.as_ref().filter(|_| self.has_layouts()) {
            for (link, program) in self.layouts.iter().flatten() {
                link.shuffled(shuffler, random.u32(..), program)?;
            }
        }
        Ok(())
    }
}

pub(super) fn labs(options: &Options, sides: [&Programs; 2], stop: &Arc<AtomicBool>) -> anyhow::Result<Labs> {
    let subject = &options.definition.subject;
    let catalogue = catalogue_of(options)?;
    ensure!(
        catalogue.get(subject).is_some(),
        "the gate's file guards `{subject}`, which no [target] describes"
    );
    let bench = Bench::of(&options.root, catalogue, sides[0].program.clone())?;
    let shuffler = Shuffler::find(&options.root, &target_triple());
    let mut layouts = [None, None];
    let mut refused = None;
    if let Some(shuffler) = &shuffler
        && let [Some(base), Some(head)] = sides.map(|side| side.link.clone())
    {
        layouts = [0, 1].map(|place| {
            let link = [&base, &head][place].clone();
            Some((link, bench.setup.work_dir.join(NAMES[place])))
        });
        // Tried before anything is measured: a linker can be too old for the option.
        let tried =
            layouts.iter().flatten().try_for_each(|(link, program)| link.shuffled(shuffler, 1, program));
        if let Err(error) = tried {
            refused = Some(format!("{error:#}"));
            layouts = [None, None];
        }
    }
    let lab = |place: usize, environment: &[(String, String)]| -> anyhow::Result<Lab> {
        let program = placed(sides[place], &bench.setup.work_dir, NAMES[place])?;
        let mut catalogue = bench.catalogue.clone();
        catalogue.override_bin(subject, program)?;
        catalogue.add_environment(subject, environment);
        Ok(Lab::new(catalogue, bench.setup.clone(), Arc::clone(stop)))
    };
    let all = [lab(0, &options.base_environment)?, lab(1, &options.head_environment)?];
    Ok(Labs { all, layouts, shuffler, refused, _bench: bench })
}

/// The path that a program is started by. One that looks for files beside it is a link to where it is; a script is started where
/// it is: what it starts has the name that the script gives it.
fn placed(side: &Programs, folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let place = folder.join(name);
    let told = || format!("copying {}", side.program.display());
    if side.loads.is_none() {
        std::fs::copy(&side.program, &place).with_context(told)?;
    } else if side.is_script() {
        return Ok(side.program.clone());
    } else {
        if place.exists() {
            std::fs::remove_file(&place).with_context(told)?;
        }
        std::os::unix::fs::symlink(&side.program, &place).with_context(told)?;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(program: PathBuf, loads: Option<&str>) -> Programs {
        Programs {
            given: String::new(),
            commit: String::new(),
            program,
            link: None,
            sha256: String::new(),
            stripped_sha256: String::new(),
            loads: loads.map(str::to_owned),
        }
    }

    #[test]
    fn programs_are_started_by_paths_of_one_length_beside_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("work")).unwrap();
        for name in ["server-old", "a-much-longer-name"] {
            std::fs::write(at(name), b"\x7fELF").unwrap();
        }
        let work = at("work");
        let base = placed(&side(at("server-old"), None), &work, "base").unwrap();
        let head = placed(&side(at("a-much-longer-name"), None), &work, "head").unwrap();
        assert_eq!(base.as_os_str().len(), head.as_os_str().len());
        assert!([&base, &head].iter().all(|path| path.is_file() && path.starts_with(&work)));
        // Its own folder is still where the kernel says.
        let loads = side(at("a-much-longer-name"), Some("it searches $ORIGIN"));
        let linked = placed(&loads, &work, "head").unwrap();
        assert_eq!(linked, head);
        assert_eq!(
            std::fs::canonicalize(&linked).unwrap(),
            std::fs::canonicalize(at("a-much-longer-name")).unwrap()
        );
        std::fs::write(at("script"), "#!/bin/sh\n").unwrap();
        assert_eq!(placed(&side(at("script"), Some("a script")), &work, "base").unwrap(), at("script"));
    }
}
