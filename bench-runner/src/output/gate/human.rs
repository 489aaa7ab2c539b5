//! What stands on the terminal at the end of a gate?

use super::{Coverage, figure, rows};
use crate::model::{Gate, GateSide};
use crate::output::{escape, table};
use std::fmt::Write as _;

/// The outcome, every verdict (what is no plain pass first), and what it was measured with.
#[must_use]
pub fn human(gate: &Gate) -> String {
    let mut text = format!("Gate: {}. {}\n", gate.outcome.words(), escape::terminal(&gate.reason));
    let _ = writeln!(text, "{}.", Coverage::of(gate));
    let ordered = rows::Ordered::of(gate);
    let all: Vec<Vec<String>> = ordered
        .remarkable
        .iter()
        .chain(&ordered.plain)
        .map(|verdict| rows::cells(verdict).to_vec())
        .collect();
    if !all.is_empty() {
        let _ = writeln!(text, "{}", table::human(&rows::HEAD, &rows::RIGHT, &all));
        text.push_str(
            "limit: the least median that is called; finds: the smallest change found four times in five; evidence: how many times its stake \
             a bet on the verdict became\n",
        );
    }
    for profile in &gate.profiles {
        let _ = writeln!(text, "{}, instructions a request by function:", escape::name(&profile.label));
        let functions: Vec<Vec<String>> =
            profile.functions.iter().map(|one| rows::function(one).to_vec()).collect();
        match functions.as_slice() {
            [] => text.push_str("no function takes more, so it is not the work that is slower\n"),
            all => _ = writeln!(text, "{}", table::human(&["function", "base", "head"], &[1, 2], all)),
        }
    }
    for left_out in &gate.left_out {
        let _ = writeln!(text, "Left out: {}", escape::terminal(left_out));
    }
    for note in &gate.notes {
        let _ = writeln!(text, "Note: {}", escape::terminal(note));
    }
    let machine = &gate.machine;
    let _ = writeln!(
        text,
        "Machine {}: {}, {} threads.",
        escape::name(&gate.machine_key),
        escape::name(&machine.cpu_model),
        machine.threads
    );
    let _ = writeln!(text, "Base {}.\nHead {}.", side(&gate.base), side(&gate.head));
    let _ = writeln!(
        text,
        "Measured for {} of {}, built for {}.",
        figure::duration(gate.measured_s),
        figure::duration(gate.budget_s),
        figure::duration(gate.build_s)
    );
    text
}

fn side(side: &GateSide) -> String {
    let name = |text: &str| escape::name(figure::id(text));
    let digests: Vec<String> = side.sha256.iter().take(2).map(|one| name(one)).collect();
    let commit =
        if side.commit.is_empty() { String::new() } else { format!("commit {}, ", name(&side.commit)) };
    format!("{} ({commit}sha256 {})", escape::name(&side.given), digests.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn everything_is_said_once() {
        let text = human(&testing::gate());
        for part in [
            "Gate: regression. 1 of 5 verdicts is a regression\n",
            "3 of 5 judged; 1 too noisy, 1 not measured, 1 scenario left out.\n",
            "Left out: embedded-scan: the budget was used up",
            "Note: the load average was 0.4 at the start",
            "Machine kvm-xeon-emr-2: Intel(R) Xeon(R) Processor (6/207/2), 2 threads.",
            "Base main (commit 1111111111aa, sha256 aaaaaaaaaaaa).",
            "Head feature (commit 2222222222bb, sha256 cccccccccccc).",
            "Measured for 18 min of 20 min, built for 95 s.",
            "GET 64 B, one after the other, instructions a request by function:",
            "engine::shard::get",
        ] {
            assert_eq!(text.matches(part).count(), 1, "{part} in:\n{text}");
        }
    }

    #[test]
    fn a_gate_without_verdicts_has_no_table() {
        let mut gate = testing::gate();
        gate.verdicts.clear();
        assert!(!human(&gate).contains("scenario  "), "{}", human(&gate));
    }
}
