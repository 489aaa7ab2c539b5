//! `bench-runner machines`: which machines have a name, is this one of them, and is it fit to be one?

use super::stdout::put;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::campaign::catalogue;
use crate::environment::{Facts, Finding, Fitness, Reader, hypervisor_vendor, is_fit, judge, machine};
use crate::output::{document, table};
use crate::target::cpus_usable;
use clap::Subcommand;
use serde_json::json;

/// List the machines with stored results, and identify this one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A machine that is not listed is recorded as unknown-<fingerprint>. To name it, add its \
    fingerprint to results/machines.toml; see bench-runner/docs/machines.md."
)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Report settings of this machine that add noise, and how to change them; changes nothing
    #[command(
        after_help = "Exit codes: 0 fit, 1 not fit. Properties that a virtual machine hides do not count against it.\n\
        Reasons: bench-runner/docs/machines.md."
    )]
    Check,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    match args.action {
        None => list(global),
        Some(Action::Check) => check(global),
    }
}

fn list(global: &Global) -> anyhow::Result<u8> {
    let registry = catalogue::machines(&global.root)?;
    let (key, here) = registry.identify(machine(&Reader::machine(), hypervisor_vendor()));
    if global.format == Format::Json {
        let all = document(
            "machines",
            json!({"here": {"key": key, "machine": here}, "machines": registry.machine}),
        );
        put(&format!("{all:#}\n"))?;
        return Ok(EXIT_FINE);
    }
    let rows: Vec<Vec<String>> = registry
        .machine
        .iter()
        .map(|known| {
            let here = if known.id == key { "this one" } else { "" };
            vec![known.id.clone(), known.title.clone(), known.class.name().to_owned(), here.to_owned()]
        })
        .collect();
    let head = ["id", "title", "class", ""];
    match global.format {
        Format::Markdown => put(&format!("{}\n", table::markdown(&head, &[], &rows)))?,
        _ => put(&format!("{}\n", table::human(&head, &[], &rows)))?,
    }
    put(&format!(
        "\nThis machine: {key}\n  fingerprint     {}\n  processor       {}\n  cores, threads  {}, {}\n  \
         memory          {} GiB\n  virtualisation  {}\n",
        here.fingerprint, here.cpu_model, here.cores, here.threads, here.memory_gib, here.virtualisation
    ))?;
    Ok(EXIT_FINE)
}

fn check(global: &Global) -> anyhow::Result<u8> {
    let findings = judge(&Facts::read(&Reader::machine(), cpus_usable()));
    let fit = is_fit(&findings);
    put(&told(&findings, fit, global.format))?;
    Ok(if fit { EXIT_FINE } else { EXIT_TOOL_ERROR })
}

/// What is printed: all that was looked at, then what to change, then the verdict.
fn told(findings: &[Finding], fit: bool, format: Format) -> String {
    if format == Format::Json {
        return format!("{:#}\n", document("machines-check", json!({"fit": fit, "findings": findings})));
    }
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|one| vec![one.what.to_owned(), one.found.clone(), one.fitness.words().to_owned()])
        .collect();
    let head = ["what", "here", ""];
    let mut text = match format {
        Format::Markdown => table::markdown(&head, &[], &rows),
        _ => table::human(&head, &[], &rows),
    };
    text.push('\n');
    for one in findings {
        if let Some(command) = &one.command {
            text.push_str(&format!(
                "\n{} is {}; it should be {}\n    {command}\n",
                one.what, one.found, one.why
            ));
        }
    }
    let unseen: Vec<&str> =
        findings.iter().filter(|one| one.fitness == Fitness::Unseen).map(|one| one.what).collect();
    if !unseen.is_empty() {
        text.push_str(&format!(
            "\nThe host decides over {}: compare only within one run.\n",
            unseen.join(", ")
        ));
    }
    text.push_str(if fit {
        "\nThis machine is fit.\n"
    } else {
        "\nThis machine is not fit yet. Run the commands as root, then this again; they last until the next boot.\n"
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(fitness: Fitness, command: Option<&str>) -> Finding {
        Finding {
            what: "swap",
            found: "1 MiB".to_owned(),
            fitness,
            why: "none: for a reason.",
            command: command.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_to_be_changed_stands_with_its_reason_and_command() {
        let text = told(&[finding(Fitness::Unfit, Some("swapoff -a"))], false, Format::Human);
        assert!(text.contains("swap is 1 MiB; it should be none: for a reason.\n    swapoff -a\n"), "{text}");
        assert!(text.contains("not fit yet"), "{text}");
    }

    #[test]
    fn what_cannot_be_seen_is_told_and_forgiven() {
        let text = told(&[finding(Fitness::Unseen, None)], true, Format::Human);
        assert!(text.contains("The host decides over swap"), "{text}");
        assert!(text.ends_with("This machine is fit.\n"), "{text}");
    }

    #[test]
    fn json_holds_every_finding() {
        let text = told(&[finding(Fitness::Fit, None)], true, Format::Json);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["findings"][0]["fitness"], "fit");
        assert_eq!(value["fit"], true);
    }
}
