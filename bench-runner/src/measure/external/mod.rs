//! The same load by a program that nobody here wrote: what does it say of the target?
//!
//! Its throughput and percentiles stand as it prints them; server CPU time per operation is read here, as
//! for every other cell. It runs on the generator's CPU and is given a number of requests that takes about as
//! long as the other cells, which a short run before, also its warm-up, tells.

mod parse;

use super::lab::Bench;
use super::os_stat::{Account, Reading};
use super::progress::Stage;
use super::trial::{empty, fact, invalidate, put};
use super::wire::{End, put_system};
use crate::load::generator::Stretched;
use crate::model::{Status, Trial};
use crate::plan::{Operation, WirePhase};
use crate::scenario::ClientProgram;
use crate::target::{RunningTarget, run_program};
use parse::Said;
use std::time::{Duration, Instant};

/// Requests of the short run before.
const FEW: u64 = 10_000;
/// Seconds of wrk's short run before: it takes whole ones.
const WRK_WARMUP_S: u64 = 1;

/// Measures one cell.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
    program: ClientProgram,
) -> Result<Trial, End> {
    let name = program.name();
    let Some(version) = version(name) else {
        let reason = format!("{name} is not installed: {}", advice(program));
        return Err(End::Broken(Status::Skipped, reason));
    };
    let Some(socket) = target.address.endpoint.socket() else {
        return Err(End::Broken(Status::Skipped, format!("{name} is only run over TCP here")));
    };
    bench.tell(&phase.cell.label, Stage::WarmingUp);
    let run = |length: Length| -> Result<Ran, End> {
        let command = command(bench, target, phase, program, socket.port(), length)?;
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let limit = Duration::try_from_secs_f64(phase.timeout_s).unwrap_or(Duration::from_secs(600));
        let (cpu_before, begin) = (children_cpu_ns(), Instant::now());
        let failed = |reason: String| End::Broken(Status::Failed, reason);
        let done = run_program(name, &arguments, limit).map_err(failed)?;
        let elapsed_ns = begin.elapsed().as_nanos() as u64;
        if !done.success {
            return Err(failed(format!("{name} failed: {}", done.last_line())));
        }
        let said = match program {
            ClientProgram::RedisBenchmark => parse::redis_benchmark(&done.stdout, requests(length)),
            ClientProgram::Wrk => parse::wrk(&done.stdout),
        };
        let said = said.map_err(|reason| failed(format!("{name}: {reason}")))?;
        Ok(Ran { said, cpu_ns: children_cpu_ns().saturating_sub(cpu_before), elapsed_ns, command })
    };
    let first = run(match program {
        ClientProgram::RedisBenchmark => Length::Requests(FEW * u64::from(phase.pipeline)),
        ClientProgram::Wrk => Length::Seconds(WRK_WARMUP_S),
    })?;
    let length = match program {
        ClientProgram::RedisBenchmark => {
            let many = first.said.ops_per_second * phase.min_seconds;
            Length::Requests((many as u64).max(FEW).max(phase.min_operations))
        }
        ClientProgram::Wrk => Length::Seconds(phase.min_seconds.ceil().max(1.0) as u64),
    };
    let before = Reading::take(target.pid, &target.cpu);
    let ran = run(length)?;
    let after = Reading::take(target.pid, &target.cpu);
    bench.tell(&phase.cell.label, Stage::Measuring);
    let mut trial = empty(bench.step.trial, bench.step.position);
    trial.elapsed_s = ran.said.operations as f64 / ran.said.ops_per_second.max(1e-9);
    trial.counts.operations = ran.said.operations;
    trial.counts.errors = ran.said.errors;
    put(&mut trial, "ops_per_second", ran.said.ops_per_second);
    for (metric, ns) in &ran.said.latencies_ns {
        put(&mut trial, metric, *ns);
    }
    let busy_max = ran.cpu_ns as f64 / ran.elapsed_ns.max(1) as f64;
    let load = Stretched { cpu_ns: ran.cpu_ns, busy_max, elapsed_ns: ran.elapsed_ns, ..Stretched::default() };
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    fact(&mut trial, "client_program", version);
    fact(&mut trial, "client_command", format!("{name} {}", shown(&ran.command)));
    if ran.said.errors > 0 {
        invalidate(&mut trial, format!("{name} counted {} errors or refused requests", ran.said.errors));
    }
    trial.process = Some(target.facts(bench.generator_cpus()));
    Ok(trial)
}

struct Ran {
    said: Said,
    cpu_ns: u64,
    elapsed_ns: u64,
    command: Vec<String>,
}

/// How long a program runs, as it takes it.
#[derive(Debug, Clone, Copy)]
enum Length {
    Requests(u64),
    Seconds(u64),
}

fn requests(length: Length) -> u64 {
    match length {
        Length::Requests(requests) => requests,
        Length::Seconds(_) => 0,
    }
}

fn command(
    bench: &Bench<'_>,
    target: &RunningTarget,
    phase: &WirePhase,
    program: ClientProgram,
    port: u16,
    length: Length,
) -> Result<Vec<String>, End> {
    let clients = phase.clients.to_string();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match (program, length) {
        (ClientProgram::RedisBenchmark, Length::Requests(requests)) => {
            let sets = phase.mix.iter().any(|(operation, _)| *operation == Operation::Set);
            let mut command = words(&["-h", "127.0.0.1", "-p", &port.to_string()]);
            if let Some(password) = &target.address.password {
                command.extend(words(&["-a", password]));
            }
            command.extend(words(&[
                "-t",
                if sets { "set" } else { "get" },
                "-d",
                &phase.value_bytes.to_string(),
            ]));
            command.extend(words(&["-c", &clients, "-P", &phase.pipeline.to_string()]));
            command.extend(words(&["-r", &phase.keys.to_string(), "-n", &requests.to_string(), "--csv"]));
            Ok(command)
        }
        (ClientProgram::Wrk, Length::Seconds(seconds)) => {
            // Without a script it would ask for one document only.
            let script = bench.setup.work_dir.join("wrk-keys.lua");
            let text = format!(
                "request = function() return wrk.format(\"GET\", string.format(\"/key:%012d\", math.random(0, {}))) end\n",
                phase.keys.saturating_sub(1)
            );
            let failed =
                |error| End::Broken(Status::Failed, format!("cannot write {}: {error}", script.display()));
            std::fs::write(&script, text).map_err(failed)?;
            let mut command =
                words(&["-t1", "-c", &clients, "-d", &format!("{seconds}s"), "--latency", "-s"]);
            command.push(script.display().to_string());
            command.push(format!("http://127.0.0.1:{port}/"));
            Ok(command)
        }
        (program, _) => Err(End::Broken(Status::Failed, format!("{} was given no length", program.name()))),
    }
}

/// The command as a record may show it: without the password.
fn shown(command: &[String]) -> String {
    let mut words = command.to_vec();
    if let Some(place) = words.iter().position(|word| word == "-a")
        && let Some(secret) = words.get_mut(place + 1)
    {
        "...".clone_into(secret);
    }
    words.join(" ")
}

fn version(name: &str) -> Option<String> {
    let argument = if name == "wrk" { "-v" } else { "--version" };
    let done = run_program(name, &[argument], Duration::from_secs(5)).ok()?;
    // wrk prints its version and fails.
    let text = if done.stdout.trim().is_empty() { done.stderr } else { done.stdout };
    text.lines().next().map(|line| line.trim().to_owned())
}

fn advice(program: ClientProgram) -> &'static str {
    match program {
        ClientProgram::RedisBenchmark => "install it with `apt-get install redis-tools`",
        ClientProgram::Wrk => "install it with `apt-get install wrk`",
    }
}

/// CPU time of all children that have ended, ns.
fn children_cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    parse::children_ticks(&stat) * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}
