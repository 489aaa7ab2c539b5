//! What is a driver's `main`? Reads one workload, does it, writes one line per event.

use crate::engine::{Engine, NotSupported};
use crate::phases::{self, Store};
use crate::process;
use crate::protocol::{Message, Ready, SCHEMA_VERSION, WORKLOAD_SCHEMA, Workload, fault};
use crate::survive;
use serde::Deserialize as _;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

/// Exit code for input that cannot be used (`EX_USAGE` of sysexits.h).
const EXIT_USAGE: u8 = 64;
/// Exit code for what the engine has not got (`EX_UNAVAILABLE`).
const EXIT_NOT_SUPPORTED: u8 = 69;

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

/// Drives `E` as standard input says. `--version` tells name and version instead; `--kill-test CYCLES FOLDER` finds out whether acknowledged writes survive
/// the process.
///
/// Exit codes: 0 all phases done (whatever they counted), 64 input that cannot be used, 69 the engine cannot be opened so, 1 anything else.
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
        ["--kill-test", cycles, folder] => match cycles.parse() {
            Ok(cycles) => survive::kill_test::<E>(cycles, folder)
                .and_then(|text| writeln!(output, "{text}").map_err(Failure::from)),
            Err(_) => Err(Failure::Input(format!("--kill-test needs a number of cycles, not {cycles:?}"))),
        },
        ["--write-until-killed", folder, first] => match first.parse() {
            Ok(first) => survive::write_until_killed::<E>(folder, first, &mut output),
            Err(_) => Err(Failure::Input(format!("--write-until-killed needs a number, not {first:?}"))),
        },
        _ => Err(Failure::Input(
            "takes no arguments: a workload in JSON comes on standard input; --version tells the engine's, --kill-test CYCLES FOLDER kills it in the middle of its writes and looks what is left"
                .to_owned(),
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (text, code) = match failure {
                Failure::Input(text) => (text, ExitCode::from(EXIT_USAGE)),
                Failure::Engine(error) if error.is::<NotSupported>() => {
                    (format!("{error:#}"), ExitCode::from(EXIT_NOT_SUPPORTED))
                }
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
    let rss_bytes_before_open = process::rss_bytes();
    let begin = Instant::now();
    let opened = E::open(&workload.engine).map_err(|error| error.context("cannot open the store"))?;
    let open_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let ready = Ready {
        engine: E::NAME.to_owned(),
        version: E::version(),
        allocator: E::ALLOCATOR.to_owned(),
        settings: opened.settings(),
        promise: opened.promise(),
        open_ns,
        rss_bytes_before_open,
        rss_bytes_after_open: process::rss_bytes(),
    };
    say(output, &Message::Ready(ready))?;
    let store = Store::new(workload.records, workload.seed);
    let mut engine = Some(opened);
    for (number, phase) in workload.phases.iter().enumerate() {
        say(output, &Message::Waiting { phase: number })?;
        input.read_line(&mut String::new())?;
        store.begin_phase(workload.draw_seed, number);
        let result = phases::run(&mut engine, &workload.engine, &store, number, phase)?;
        say(output, &Message::Phase(Box::new(result)))?;
    }
    say(output, &Message::Waiting { phase: workload.phases.len() })?;
    input.read_line(&mut String::new())?;
    if let Some(engine) = engine {
        engine.close().map_err(|error| error.context("cannot close the store"))?;
    }
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
