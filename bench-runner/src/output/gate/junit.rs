//! How does a program that knows tests, and no benchmarks, read a gate? As JUnit XML: one test case per verdict.
//!
//! A proven regression is a failure. What was not judged is skipped, with the reason, and so is a regression that is only
//! advisory: it is shown and turns nothing red.

use super::{Coverage, rows};
use crate::model::{Gate, GateOutcome, GateVerdict};
use crate::output::escape;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// Name of the suite.
const SUITE: &str = "plumbkv gate";

/// What a test case comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    Failed,
    Skipped,
}

/// The gate as a JUnit file.
#[must_use]
pub fn junit(gate: &Gate) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // The only error is that of the sink, and a vector has none.
    let written = document(&mut writer, gate);
    debug_assert!(written.is_ok(), "{written:?}");
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    text
}

fn document(writer: &mut Writer<Vec<u8>>, gate: &Gate) -> io::Result<()> {
    let count = |case: Case| gate.verdicts.iter().filter(|one| case_of(one) == case).count().to_string();
    let (failures, skipped) = (count(Case::Failed), count(Case::Skipped));
    let (tests, time) = (gate.verdicts.len().to_string(), seconds(gate.measured_s));
    let timestamp = plain(&gate.started_at);
    let counts = [
        ("name", SUITE),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", "0"),
        ("skipped", &skipped),
        ("time", &time),
    ];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").with_attributes(counts).write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attributes(counts);
        suite.with_attribute(("timestamp", timestamp.as_str())).write_inner_content(|writer| {
            properties(writer, gate)?;
            gate.verdicts.iter().try_for_each(|verdict| test_case(writer, verdict))
        })?;
        Ok(())
    })?;
    Ok(())
}

fn properties(writer: &mut Writer<Vec<u8>>, gate: &Gate) -> io::Result<()> {
    let all = [
        ("outcome", gate.outcome.words().to_owned()),
        ("reason", plain(&gate.reason)),
        ("coverage", Coverage::of(gate).to_string()),
        ("base.commit", plain(&gate.base.commit)),
        ("head.commit", plain(&gate.head.commit)),
        ("machine", plain(&gate.machine_key)),
        ("cpu_model", plain(&gate.machine.cpu_model)),
    ];
    let left_out = gate.left_out.iter().map(|one| ("left_out", plain(one)));
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in all.into_iter().chain(left_out) {
            let property = writer.create_element("property");
            property.with_attributes([("name", name), ("value", value.as_str())]).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn test_case(writer: &mut Writer<Vec<u8>>, verdict: &GateVerdict) -> io::Result<()> {
    let (class, name) = (plain(&verdict.scenario), plain(&verdict.metric));
    let (said, evidence) = (plain(&rows::said(verdict)), evidence(verdict));
    let case = writer.create_element("testcase");
    let case = case.with_attributes([("classname", class.as_str()), ("name", name.as_str())]);
    case.write_inner_content(|writer| {
        match case_of(verdict) {
            Case::Passed => {}
            Case::Failed => {
                let failure = writer.create_element("failure");
                let failure = failure.with_attributes([("type", "regression"), ("message", said.as_str())]);
                failure.write_text_content(BytesText::new(&evidence))?;
            }
            Case::Skipped => {
                let why = plain(&rows::why(verdict));
                let message = if why.is_empty() { said.clone() } else { format!("{said}: {why}") };
                writer
                    .create_element("skipped")
                    .with_attribute(("message", message.as_str()))
                    .write_empty()?;
            }
        }
        writer.create_element("system-out").write_text_content(BytesText::new(&evidence))?;
        Ok(())
    })?;
    Ok(())
}

fn case_of(verdict: &GateVerdict) -> Case {
    match verdict.outcome {
        GateOutcome::Regression => Case::Failed,
        GateOutcome::Inconclusive | GateOutcome::NotMeasured => Case::Skipped,
        GateOutcome::Pass | GateOutcome::Improvement => Case::Passed,
    }
}

/// The row of the table, each figure under its name.
fn evidence(verdict: &GateVerdict) -> String {
    let named: Vec<String> = rows::HEAD
        .iter()
        .zip(rows::cells(verdict))
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(head, cell)| format!("{head}: {}", plain(&cell)))
        .collect();
    named.join("; ")
}

fn seconds(seconds: f64) -> String {
    // Readers parse a plain decimal number and nothing else.
    format!("{:.3}", if (0.0..1e9).contains(&seconds) { seconds } else { 0.0 })
}

/// A text that XML 1.0 can hold: it has no way to spell control characters or the two that are none at all.
fn plain(text: &str) -> String {
    escape::terminal(text).replace(['\u{fffe}', '\u{ffff}'], "")
}

#[cfg(test)]
mod tests {
    use super::super::{figure, testing};
    use super::*;
    use crate::model::GateClass;
    use quick_xml::Reader;
    use std::collections::BTreeMap;

    /// Element names with their attributes, read back by a parser.
    fn elements(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
        let mut reader = Reader::from_str(text);
        let mut found = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    let attributes = tag.attributes().map(|one| {
                        let one = one.unwrap();
                        let value = quick_xml::escape::unescape(&one.value).unwrap().into_owned();
                        (one.key.as_ref().to_owned(), value)
                    });
                    found.push((tag.name().into_inner().to_owned(), attributes.collect()));
                }
                Event::Eof => return found,
                _ => {}
            }
        }
    }

    #[test]
    fn each_verdict_is_a_test_case() {
        let text = junit(&testing::gate());
        let found = elements(&text);
        let named = |name: &str| found.iter().filter(|(one, _)| one == name).collect::<Vec<_>>();
        assert!(
            text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plumbkv gate\""),
            "{text}"
        );
        for suite in named("testsuites").into_iter().chain(named("testsuite")) {
            for (attribute, value) in
                [("tests", "5"), ("failures", "1"), ("errors", "0"), ("skipped", "2"), ("time", "1081.500")]
            {
                assert_eq!(suite.1[attribute], value);
            }
        }
        assert_eq!(named("testcase").len(), 5);
        assert_eq!(named("testcase")[0].1["classname"], "wire-single/get");
        assert_eq!(named("failure")[0].1["message"], "regression: +9.8 %, more CPU");
        assert!(named("skipped")[0].1["message"].contains("do not agree on the direction"), "{text}");
        assert_eq!(named("failure").len() + named("skipped").len(), 3);
        assert!(named("property").iter().any(|(_, one)| one["name"] == "left_out"), "{text}");
    }

    #[test]
    fn a_regression_is_a_failure_however_its_series_scatters() {
        let mut gate = testing::gate();
        gate.verdicts.iter_mut().for_each(|one| one.class = GateClass::Advisory);
        assert_eq!(junit(&gate).matches("<failure").count(), 1);
    }

    #[test]
    fn a_time_that_is_none_is_a_number_all_the_same() {
        for (given, expected) in
            [(1081.5, "1081.500"), (f64::NAN, "0.000"), (-1.0, "0.000"), (1e300, "0.000")]
        {
            assert_eq!(seconds(given), expected);
        }
        assert_eq!(figure::duration(1081.5), "18 min");
    }

    #[test]
    fn a_text_that_xml_cannot_hold_is_replaced() {
        let mut gate = testing::gate();
        gate.verdicts[0].scenario = "a\u{0}\u{b}\u{fffe}\u{ffff}<&\"'>]]>\n\t".into();
        let found = elements(&junit(&gate));
        let case = found.iter().find(|(name, _)| name == "testcase").unwrap();
        assert_eq!(case.1["classname"], "a\\u{0}\\u{b}<&\"'>]]>  ");
    }
}
