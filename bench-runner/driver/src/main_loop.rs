//! What is a driver's `main`? Reads one workload, does it, writes one line per event.

use crate::engine::Engine;
use crate::phases::{self, Store};
use crate::protocol::{Message, Phase, Ready, SCHEMA_VERSION, Until, WORKLOAD_SCHEMA, Workload};
use serde::Deserialize as _;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

/// Exit code for input that cannot be used (`EX_USAGE` of sysexits.h).
const EXIT_USAGE: u8 = 64;

/// Why a driver ended before its time.
#[derive(Debug)]
pub enum Failure {
    /// The workload cannot be used.
    Input(String),
    /// The engine or the machine failed.
    Engine(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// Drives `E` as standard input says. `--version` tells name and version instead.
///
/// Exit codes: 0 all phases done (whatever they counted), 64 input that cannot be used, 1 anything else.
#[must_use]
pub fn main_loop<E: Engine>() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut output = std::io::stdout().lock();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => run::<E>(&mut std::io::stdin().lock(), &mut output),
        ["--version"] => {
            let line = writeln!(output, "{} {} allocator={}", E::NAME, E::version(), E::ALLOCATOR);
            line.map_err(Failure::from)
        }
        _ => Err(Failure::Input(
            "takes no arguments: a workload in JSON comes on standard input; --version tells the engine's"
                .to_owned(),
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (text, code) = match failure {
                Failure::Input(text) => (text, ExitCode::from(EXIT_USAGE)),
                Failure::Engine(error) => (format!("{error:#}"), ExitCode::FAILURE),
            };
            // One line, whatever the engine put into its error.
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(std::io::stderr(), "{} driver: {text}", E::NAME);
            code
        }
    }
}

/// Reads one workload from `input` and does it; `output` gets one [`Message`] per line.
///
/// # Errors
/// The workload cannot be used, or the engine cannot be opened, flushed or closed.
pub fn run<E: Engine>(input: &mut impl BufRead, output: &mut impl Write) -> Result<(), Failure> {
    let workload = read(input)?;
    let engine = E::open(&workload.engine).map_err(|error| error.context("cannot open the store"))?;
    let ready = Ready {
        engine: E::NAME.to_owned(),
        version: E::version(),
        allocator: E::ALLOCATOR.to_owned(),
        settings: engine.settings(),
    };
    say(output, &Message::Ready(ready))?;
    let store = Store::new(workload.records, workload.seed);
    let folder = Path::new(&workload.engine.location);
    for (number, phase) in workload.phases.iter().enumerate() {
        say(output, &Message::Waiting { phase: number })?;
        input.read_line(&mut String::new())?;
        say(output, &Message::Phase(phases::run(&engine, &store, number, phase, folder)?))?;
    }
    say(output, &Message::Waiting { phase: workload.phases.len() })?;
    input.read_line(&mut String::new())?;
    engine.close().map_err(|error| error.context("cannot close the store"))?;
    say(output, &Message::Done)?;
    Ok(())
}

fn say(output: &mut impl Write, message: &Message) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")?;
    output.flush()?;
    Ok(())
}

fn read(input: &mut impl BufRead) -> Result<Workload, Failure> {
    let refuse = |text: String| Failure::Input(format!("the workload cannot be used: {text}"));
    // Its version first: a newer one may have fields that would be called unknown here.
    let mut parser = serde_json::Deserializer::from_reader(&mut *input);
    let value = serde_json::Value::deserialize(&mut parser).map_err(|error| refuse(error.to_string()))?;
    // The rest of its line, so that the lines after it are those that begin phases.
    input.read_line(&mut String::new())?;
    let (schema, version) = (value["schema"].as_str(), value["schema_version"].as_u64());
    if (schema, version) != (Some(WORKLOAD_SCHEMA), Some(u64::from(SCHEMA_VERSION))) {
        return Err(refuse(format!(
            "schema and schema_version must be \"{WORKLOAD_SCHEMA}\" and {SCHEMA_VERSION}, not {} and {}; build the \
             runner and its drivers from one commit (make build drivers)",
            value["schema"], value["schema_version"]
        )));
    }
    let workload: Workload = serde_json::from_value(value).map_err(|error| refuse(error.to_string()))?;
    match fault(&workload) {
        Some(fault) => Err(refuse(fault)),
        None => Ok(workload),
    }
}

/// What does not make sense.
fn fault(workload: &Workload) -> Option<String> {
    if !(1..=999_999_999_999).contains(&workload.records.count) {
        return Some(format!("records.count must be 1 to 999999999999, not {}", workload.records.count));
    }
    if !(1..=64 << 20).contains(&workload.records.value_bytes) {
        return Some(format!(
            "records.value_bytes must be 1 to 67108864, not {}",
            workload.records.value_bytes
        ));
    }
    workload.phases.iter().enumerate().find_map(|(number, phase)| {
        let zero = |name: &str, value: u32| (value == 0).then(|| format!("{name} must be at least 1"));
        let fault = match phase {
            Phase::Load { batch, .. } => zero("batch", *batch),
            Phase::ReadRandom { threads, until, .. } => zero("threads", *threads).or_else(|| endless(*until)),
            Phase::ReadOrdered { until } => endless(*until),
            Phase::Scan { records, until } => zero("records", *records).or_else(|| endless(*until)),
            Phase::Write { batch, until, .. } => zero("batch", *batch).or_else(|| endless(*until)),
            Phase::Mixed { read_percent, until, .. } => (*read_percent > 100)
                .then(|| "read_percent is above 100".to_owned())
                .or_else(|| endless(*until)),
        };
        fault.map(|fault| format!("phase {number}: {fault}"))
    })
}

fn endless(until: Until) -> Option<String> {
    let fine = (0.0..=86_400.0).contains(&until.seconds);
    (!fine).then(|| format!("until.seconds must be 0 to 86400, not {}", until.seconds))
}
