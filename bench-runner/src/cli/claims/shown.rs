//! The table of claims for a terminal and for Markdown.

use super::Format;
use crate::claims;
use crate::model::{Claim, ClaimVerdict, Evidence, Figure, Spread};
use crate::output::{escape, table};
use std::fmt::Write as _;

/// The claims as tables, then a line each.
pub(super) fn shown(all: &[Claim], format: Format) -> String {
    let head = ["claim", "verdict", "machine", "version", "cells", "median", "spread", "n", "why"];
    let mut rows = Vec::new();
    for claim in all {
        if claim.machines.is_empty() {
            let mut row = vec![claim.key.clone(), claims::verdict_name(claim.verdict).to_owned()];
            row.extend(std::iter::repeat_n(String::new(), 6));
            row.push(claim.reason.clone());
            rows.push(row);
            continue;
        }
        for machine in &claim.machines {
            let version = machine.run.as_ref().map_or("", |run| &run.version);
            let mut row = |verdict, pair: String, figure: Option<&Figure>, why: &str| {
                let mut row = vec![claim.key.clone(), verdict, machine.machine_key.clone()];
                row.extend([version.to_owned(), pair]);
                row.extend(columns(figure));
                row.push(why.to_owned());
                rows.push(row);
            };
            if machine.evidence.is_empty() {
                let word = claims::verdict_name(machine.verdict).to_owned();
                row(word, String::new(), None, &machine.reason);
            }
            for one in &machine.evidence {
                let word = claims::verdict_name(one.verdict).to_owned();
                row(word, pair(one), one.figure.as_ref(), &one.reason);
            }
        }
    }
    let right = [5, 6, 7];
    let mut text = match format {
        Format::Markdown => table::markdown(&head, &right, &rows),
        _ => table::human(&head, &right, &rows),
    };
    text.push_str("\n\n");
    let (bullet, escaped): (&str, fn(&str) -> String) = match format {
        Format::Markdown => ("- ", escape::markdown),
        _ => ("", escape::terminal),
    };
    for claim in all {
        let verdict = claims::verdict_name(claim.verdict);
        let _ = writeln!(text, "{bullet}{}: {verdict}. {}", claim.key, escaped(&claim.statement));
        if let Some(earlier) = &claim.earlier {
            let was = if earlier.verdict == ClaimVerdict::Holds { "held" } else { "failed" };
            let _ = writeln!(text, "  It {was} in {}, and has not been measured since.", earlier.version);
        }
        if claim.verdict == ClaimVerdict::NotMeasured {
            let _ = writeln!(text, "  To measure it: {}", escaped(&claim.measure));
        }
        if let Some(remark) = &claim.remark {
            let _ = writeln!(text, "  {}", escaped(remark));
        }
    }
    let count = |verdict| all.iter().filter(|claim| claim.verdict == verdict).count();
    let earlier = all.iter().filter(|claim| claim.earlier.is_some()).count();
    let _ = writeln!(
        text,
        "\n{} claims: {} hold, {} fail, {} not measured, {earlier} of them measured in an earlier version.",
        all.len(),
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::Fails),
        count(ClaimVerdict::NotMeasured)
    );
    text
}

fn pair(evidence: &Evidence) -> String {
    match &evidence.denominator {
        Some(below) if *below != evidence.numerator => format!("{} / {below}", evidence.numerator),
        _ => evidence.numerator.clone(),
    }
}

fn columns(figure: Option<&Figure>) -> [String; 3] {
    let Some(figure) = figure else { return [String::new(), String::new(), String::new()] };
    let kind = if figure.spread == Spread::Range { "range " } else { "" };
    [
        claims::short(figure.median),
        format!("{kind}{}–{}", claims::short(figure.low), claims::short(figure.high)),
        figure.n.to_string(),
    ]
}
