//! Does the comment say what there is to say, first things first, and never too much?

use super::super::testing;
use super::*;
use crate::model::GateVerdict;

fn times(verdict: &GateVerdict, count: usize) -> Vec<GateVerdict> {
    let named = |number| GateVerdict { scenario: format!("scenario-{number:04}"), ..verdict.clone() };
    (0..count).map(named).collect()
}

/// Tables, tags and fences that are whole: every row has all its cells, and what is opened is closed.
fn assert_whole(text: &str) {
    assert!(text.len() <= COMMENT_LIMIT_BYTES, "{} bytes", text.len());
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    assert_eq!(text.matches("<summary>").count(), text.matches("</summary>").count());
    assert!(text.matches("```").count().is_multiple_of(2), "a fence is open");
    let mut columns = 0;
    for line in text.lines() {
        let unescaped = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        if !line.starts_with('|') {
            columns = 0;
            continue;
        }
        assert!(columns == 0 || columns == unescaped, "a row of other width: {line}");
        columns = unescaped;
    }
    assert!(text.ends_with('\n'));
}

#[test]
fn what_there_is_to_look_at_stands_first() {
    let text = markdown(&testing::gate(), Some("2 of 400 A/A gates were red (0.06–1.8 %)"));
    assert_whole(&text);
    let places: Vec<usize> = [
        "<!-- plumbkv-bench-gate -->\n### Gate: regression\n\nWhy: 1 of 5 verdicts is a regression\n",
        "\n3 of 5 judged; 1 too noisy, 1 not measured, 1 scenario left out.\n",
        "\n| scenario | metric | base | head | head / base | limit | finds | class | verdict | why |\n| --- | --- | ---: |",
        "\n| GET, one connection | server_cpu_ns_per_op | 4,123 ns | 4,527 ns | 1.098 (1.089–1.108) \
         | 3.0 % | 3.4 % | gated | regression: +9.8 %, more CPU | 16 blocks; evidence 5,200 |\n",
        "| improvement: ",
        "| inconclusive: +5.1 % |",
        "| not measured |",
        "<details>\n<summary>1 plain pass</summary>\n\n| scenario |",
        "| pass: +0.4 % | 5 blocks; evidence 41",
        "\n</details>\n",
        "- Left out: embedded-scan: the budget was used up\n",
        "- Note: the load average was 0.4 at the start\n",
        "To see the regression again, in a checkout that has both commits:\n\n```sh\nbench-runner gate --base main --head feature\n```\n",
        "| machine | kvm-xeon-emr-2 |\n| CPU | Intel(R) Xeon(R) Processor (6/207/2), 2 cores, 2 threads |\n",
        "| base | main, 1111111111aa, sha256 aaaaaaaaaaaa |\n",
        "| head | feature, 2222222222bb, sha256 cccccccccccc |\n",
        "| time | measured 18 min of 20 min, built 95 s; started 2026-11-21T10:00:00Z |\n",
        "How often the gate errs: 2 of 400 A/A gates were red (0.06–1.8 %)\n",
    ]
    .iter()
    .map(|part| text.find(part).unwrap_or_else(|| panic!("{part:?} is not in:\n{text}")))
    .collect();
    assert!(places.is_sorted(), "{places:?}\n{text}");
}

#[test]
fn without_a_calibration_it_says_so() {
    assert!(markdown(&testing::gate(), None).contains("is not quoted: there was no calibration"));
}

#[test]
fn without_verdicts_there_are_no_tables_of_them() {
    let mut gate = testing::gate();
    gate.verdicts.clear();
    let text = markdown(&gate, None);
    assert_whole(&text);
    assert!(!text.contains("| scenario |") && !text.contains("<details>"), "{text}");
    assert!(text.contains("0 of 0 judged"), "{text}");
}

#[test]
fn a_thousand_passes_give_way_to_every_regression() {
    let mut gate = testing::gate();
    let (regression, pass) = (gate.verdicts[0].clone(), gate.verdicts[4].clone());
    let mut verdicts = times(&pass, 950);
    let red = times(&regression, 50).into_iter().map(|one| GateVerdict { metric: "red".into(), ..one });
    verdicts.extend(red);
    gate.verdicts = verdicts;
    let text = markdown(&gate, None);
    assert_whole(&text);
    assert!(
        text.len() > COMMENT_LIMIT_BYTES - FRAME_BYTES - 500,
        "room is left unused: {} bytes",
        text.len()
    );
    assert_eq!(text.matches("| red |").count(), 50, "every regression is kept");
    let kept = text.lines().filter(|line| line.contains("| pass: ")).count();
    assert!(
        text.contains(&format!("{} of 950 rows are left out: a comment holds 65536", 950 - kept)),
        "{kept}\n{text}"
    );
    assert!(text.contains("<summary>950 plain passes</summary>"));
}

#[test]
fn where_even_regressions_find_no_room_it_says_how_many() {
    let mut gate = testing::gate();
    let mut verdicts = times(&gate.verdicts[0], 1_000);
    verdicts.extend(times(&gate.verdicts[2], 10));
    gate.verdicts = verdicts;
    let text = markdown(&gate, None);
    assert_whole(&text);
    let kept = text.lines().filter(|line| line.contains("| regression: ")).count();
    let expected =
        format!("{} of 1010 rows are left out, {} of them regressions:", 1_010 - kept, 1_000 - kept);
    assert!(kept > 100 && text.contains(&expected), "{kept}\n{text}");
}

#[test]
fn many_notes_are_counted_and_not_spelled_out() {
    let mut gate = testing::gate();
    gate.notes = vec!["x".repeat(10_000); 500];
    gate.left_out = vec!["y".repeat(10_000); 500];
    let text = markdown(&gate, None);
    assert_whole(&text);
    assert!(
        text.contains("- Note: 480 more, in `gate.json`") && text.contains("- Left out: 480 more"),
        "{text}"
    );
}

#[test]
fn only_a_plain_call_of_this_program_is_offered_for_copying() {
    let long = format!("bench-runner gate {}", "x".repeat(600));
    for (command, expected) in [
        ("bench-runner gate --base main --head 0a1b", true),
        ("bench-runner gate --base origin/main --budget=20", true),
        ("curl x.example/y", false),
        ("bench-runner-evil gate", false),
        ("bench-runner gate; rm -rf x", false),
        ("bench-runner gate $(id)", false),
        ("bench-runner gate `id`", false),
        ("bench-runner gate\ncurl x", false),
        ("bench-runner gate | sh", false),
        ("bench-runner gate > x", false),
        (long.as_str(), false),
        ("", false),
    ] {
        assert_eq!(repeatable(command).is_some(), expected, "{command}");
    }
}

#[test]
fn the_widest_gate_still_fits() {
    // Each character of these becomes ten.
    let wide = "\u{e0001}".repeat(10_000);
    let mut gate = testing::gate();
    testing::every_text(&mut gate, &wide);
    gate.verdicts = times(&gate.verdicts[0], 500);
    for verdict in &mut gate.verdicts {
        verdict.scenario.clone_from(&wide);
    }
    gate.notes = vec![wide.clone(); 100];
    let text = markdown(&gate, Some(&wide));
    assert_whole(&text);
    assert!(text.contains("rows are left out"), "{text}");
}
