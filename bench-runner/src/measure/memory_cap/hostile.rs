//! Everything at once that makes memory grow: does the process stay inside what it was given?
//!
//! A few connections write values that grow, append, set lifetimes, delete, rename and write in batches; a few ask for
//! large replies, many at a time, and never read one; all others are open and do nothing. A write may be refused for
//! want of memory, and so may a connection: both are counted. A connection that is closed is opened again. What decides
//! is the kernel's own peak of the process.

use super::super::lab::Bench;
use super::super::os_stat::{Account, Reading};
use super::super::progress::Stage;
use super::super::trial::{empty, fact, invalidate, put};
use super::super::wire::{End, put_load, put_system, seconds};
use super::key_of;
use crate::load::client::{Address, Answered, Client};
use crate::load::generator::{Stretched, thread_cpu_ns};
use crate::load::recorder::Recorder;
use crate::load::values::Values;
use crate::model::Trial;
use crate::plan::{CapPhase, Operation};
use crate::target::RunningTarget;
use crate::target::memory::rss_bytes_under_load;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Connections that write and read.
const BUSY: u32 = 8;
/// Connections that ask and never read.
const MUTE: u32 = 4;
/// How long one reply may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Before a connection that was refused or closed is tried again.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the resident memory is looked at; each look costs the process time.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long a connection that never reads is kept before another takes its place.
const MUTE_FOR: Duration = Duration::from_millis(500);
/// Largest value written, bytes, and its largest share of the cap.
const LARGEST: u64 = 1 << 20;
const LARGEST_SHARE: u64 = 16;
/// Lengths of most values when the load begins, of what they are at its end.
const FIRST_SHARE: f64 = 0.2;

/// The mix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hostile {
    pub(super) clients: u32,
    pub(super) keys: u64,
    pub(super) seconds: f64,
}

/// What all connections share.
struct Shared<'a> {
    address: &'a Address,
    order: Hostile,
    values: &'a Values,
    longest: usize,
    seed: u64,
    begin: Instant,
    over: AtomicBool,
    refused: AtomicU64,
    lost: AtomicU64,
}

pub(super) fn hostile(
    bench: &mut Bench<'_>,
    target: &RunningTarget,
    phase: &CapPhase,
    order: Hostile,
) -> Result<Trial, End> {
    let (step, label) = (bench.step, &phase.cell.label);
    let mut trial = empty(step.trial, step.position);
    let longest = usize::try_from((phase.cap_bytes / LARGEST_SHARE).min(LARGEST)).unwrap_or(1 << 20);
    let values = Values::new(step.seed, longest);
    bench.tell(label, Stage::Connecting);
    let shared = Shared {
        address: &target.address,
        order,
        values: &values,
        longest,
        seed: step.seed,
        begin: Instant::now(),
        over: AtomicBool::new(false),
        refused: AtomicU64::new(0),
        lost: AtomicU64::new(0),
    };
    let before = Reading::take(target.pid, &target.cpu);
    let idle_clients = order.clients.saturating_sub(BUSY + MUTE);
    let (mut idle, mut refusals_at_start) = (Vec::new(), 0_u64);
    for _ in 0..idle_clients {
        match Client::connect(&target.address, PATIENCE) {
            Ok(client) => idle.push(client),
            Err(_) => refusals_at_start += 1,
        }
        if bench.stopped() {
            return Err(End::Stopped);
        }
    }
    bench.tell(label, Stage::Measuring);
    let shared = Shared { begin: Instant::now(), ..shared };
    let (load, highest) = all_at_once(bench, target, &shared);
    let after = Reading::take(target.pid, &target.cpu);
    if bench.stopped() {
        return Err(End::Stopped);
    }
    let elapsed_s = load.elapsed_ns as f64 / 1e9;
    trial.elapsed_s = elapsed_s;
    trial.counts = load.recorder.counts;
    put_load(&mut trial, &load.recorder, elapsed_s);
    let mut account = Account::default();
    account.add(&before, &after, &load);
    put_system(&mut trial, account, target);
    // The kernel's peak lags by what each CPU has not reported yet; the counter of the resident pages adds that up.
    let start = target.rss_bytes_start as f64;
    for value in &mut trial.values {
        match value.metric.as_str() {
            "rss_bytes_peak" => value.value = value.value.max(highest as f64),
            "rss_bytes_growth" => value.value = value.value.max(highest as f64 - start),
            _ => {}
        }
    }
    let refused = refusals_at_start + shared.refused.load(Ordering::Relaxed);
    put(&mut trial, "refusals", load.recorder.refusals as f64);
    put(&mut trial, "connections_refused", refused as f64);
    put(&mut trial, "connections_lost", shared.lost.load(Ordering::Relaxed) as f64);
    fact(&mut trial, "idle_connections", idle.len() as u64);
    fact(&mut trial, "rss_bytes_seen_max", highest);
    if let Some(text) = &load.recorder.first_refusal {
        fact(&mut trial, "first_refusal", text.as_str());
    }
    if let Some(reason) = load.recorder.first_error {
        invalidate(&mut trial, reason);
    }
    drop(idle);
    // Whoever survives this answers.
    Client::connect(&target.address, PATIENCE)?;
    Ok(trial)
}

fn all_at_once(bench: &Bench<'_>, target: &RunningTarget, shared: &Shared<'_>) -> (Stretched, u64) {
    std::thread::scope(|scope| {
        let busy: Vec<_> = (0..BUSY).map(|number| scope.spawn(move || attack(shared, number))).collect();
        let mute: Vec<_> = (0..MUTE).map(|number| scope.spawn(move || ask_only(shared, number))).collect();
        let end = seconds(shared.order.seconds);
        let mut highest = 0;
        while shared.begin.elapsed() < end && !bench.stopped() {
            highest = highest.max(rss_bytes_under_load(target.pid));
            std::thread::sleep(LOOK_EVERY.min(end.saturating_sub(shared.begin.elapsed())));
        }
        highest = highest.max(rss_bytes_under_load(target.pid));
        shared.over.store(true, Ordering::Relaxed);
        let mut load =
            Stretched { elapsed_ns: shared.begin.elapsed().as_nanos().max(1) as u64, ..Stretched::default() };
        for (recorder, cpu_ns) in busy.into_iter().filter_map(|it| it.join().ok()) {
            load.recorder.merge(&recorder);
            load.sent += recorder.counts.operations;
            load.cpu_ns += cpu_ns;
        }
        load.cpu_ns += mute.into_iter().filter_map(|it| it.join().ok()).sum::<u64>();
        load.busy_max = load.cpu_ns as f64 / load.elapsed_ns as f64;
        (load, highest)
    })
}

/// One connection that writes and reads, opened again where it is closed.
fn attack(shared: &Shared<'_>, number: u32) -> (Recorder, u64) {
    let cpu_before = thread_cpu_ns();
    let mut rng = fastrand::Rng::with_seed(shared.seed.wrapping_add(u64::from(number)));
    let mut recorder = Recorder::default();
    let mut value = vec![0; shared.longest];
    shared.values.write(u64::from(number), &mut value);
    while !shared.over.load(Ordering::Relaxed) {
        let Ok(mut client) = Client::connect(shared.address, PATIENCE) else {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
            continue;
        };
        while !shared.over.load(Ordering::Relaxed) {
            let request = draw(shared, &mut rng, &value);
            let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            let reads = request.first().is_some_and(|name| name == b"GET");
            let operation = if reads { Operation::Get } else { Operation::Set };
            let sent = Instant::now();
            let Ok(answered) = client.call(&words) else {
                shared.lost.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
                break;
            };
            let since_start = shared.begin.elapsed().as_nanos() as u64;
            recorder.record(operation, sent.elapsed().as_nanos() as u64, since_start);
            match judge(&request, answered) {
                Judged::Fine => {}
                Judged::Refused(text) => {
                    recorder.refusals += 1;
                    recorder.first_refusal.get_or_insert(text);
                }
                Judged::Wrong(text) => recorder.error(|| text),
            }
        }
    }
    (recorder, thread_cpu_ns().saturating_sub(cpu_before))
}

/// One request of the mix, in its words.
fn draw(shared: &Shared<'_>, rng: &mut fastrand::Rng, bytes: &[u8]) -> Vec<Vec<u8>> {
    let share = (shared.begin.elapsed().as_secs_f64() / shared.order.seconds.max(1e-3)).min(1.0);
    let grown = FIRST_SHARE + (1.0 - FIRST_SHARE) * share;
    let most = match rng.u32(..100) {
        0 => shared.longest,
        1..10 => 40_000.min(shared.longest),
        _ => 2_000.min(shared.longest),
    };
    let length = rng.usize(..((most as f64 * grown) as usize).max(1));
    let value = &bytes[..length];
    let keys = shared.order.keys;
    let key = |rng: &mut fastrand::Rng| key_of(rng.u64(..keys)).to_vec();
    let own = key(rng);
    let number = |value: u32| value.to_string().into_bytes();
    match rng.u32(..1_000) {
        0..300 => vec![b"SET".to_vec(), own, value.to_vec()],
        300..450 => vec![b"SET".to_vec(), own, value.to_vec(), b"PX".to_vec(), number(rng.u32(1..1_000))],
        450..600 => vec![b"APPEND".to_vec(), own, value[..length.min(300)].to_vec()],
        600..700 => vec![b"DEL".to_vec(), own, key(rng)],
        700..750 => {
            let mut words = vec![b"MSET".to_vec()];
            for _ in 0..10 {
                words.extend([key(rng), value[..length.min(3_000)].to_vec()]);
            }
            words
        }
        750..775 => vec![b"EXPIRE".to_vec(), own, number(1)],
        775..780 => vec![b"RENAME".to_vec(), own, key(rng)],
        780 if rng.u32(..100) == 0 => vec![b"FLUSHALL".to_vec()],
        _ => vec![b"GET".to_vec(), own],
    }
}

enum Judged {
    Fine,
    Refused(String),
    Wrong(String),
}

fn judge(request: &[Vec<u8>], answered: Answered) -> Judged {
    let name = request.first().map(Vec::as_slice).unwrap_or_default();
    let fits = match (&answered, name) {
        (Answered::Simple(text), b"SET" | b"MSET" | b"RENAME" | b"FLUSHALL") => text == "OK",
        (Answered::Integer(_), b"APPEND" | b"DEL" | b"EXPIRE") => true,
        (Answered::Bulk(_) | Answered::Null, b"GET") => true,
        (Answered::Error(text), b"RENAME") if text.starts_with("ERR no such key") => true,
        _ => false,
    };
    match answered {
        _ if fits => Judged::Fine,
        Answered::Error(text) if text.starts_with("OOM ") => Judged::Refused(text),
        other => {
            Judged::Wrong(format!("{} was answered by {}", String::from_utf8_lossy(name), other.describe()))
        }
    }
}

/// One connection that asks for large replies, many at a time, and never reads one. Returns its CPU time, ns.
fn ask_only(shared: &Shared<'_>, number: u32) -> u64 {
    let cpu_before = thread_cpu_ns();
    let name = key_of(shared.order.keys + u64::from(number));
    let mut value = vec![0; shared.longest / 2];
    shared.values.write(u64::from(number), &mut value);
    let mut asking = Vec::new();
    (0..1_000).for_each(|_| plumbkv_resp::compose(&[b"GET", &name], &mut asking));
    while !shared.over.load(Ordering::Relaxed) {
        let Ok(mut client) = Client::connect(shared.address, PATIENCE) else {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
            continue;
        };
        // Refused or not, evicted or not: what is asked for is as large as it can be.
        let _ = client.call(&[b"SET", &name, &value]);
        let since = Instant::now();
        let mut sent = 0;
        while since.elapsed() < MUTE_FOR && !shared.over.load(Ordering::Relaxed) {
            match client.send_at_once(&asking[sent % asking.len()..]) {
                Ok(count) => sent += count,
                Err(_) => {
                    shared.lost.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
    thread_cpu_ns().saturating_sub(cpu_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> Vec<Vec<u8>> {
        vec![name.as_bytes().to_vec()]
    }

    #[test]
    fn a_refusal_is_counted_and_anything_odd_is_wrong() {
        let of = |name: &str, answered| match judge(&words(name), answered) {
            Judged::Fine => "fine",
            Judged::Refused(_) => "refused",
            Judged::Wrong(_) => "wrong",
        };
        let error = |text: &str| Answered::Error(text.to_owned());
        assert_eq!(of("SET", Answered::Simple("OK".to_owned())), "fine");
        assert_eq!(of("SET", error("OOM command not allowed")), "refused");
        assert_eq!(of("SET", error("ERR internal")), "wrong");
        assert_eq!(of("GET", Answered::Null), "fine");
        assert_eq!(of("GET", Answered::Integer(1)), "wrong");
        assert_eq!(of("APPEND", Answered::Integer(1)), "fine");
        assert_eq!(of("RENAME", error("ERR no such key")), "fine");
        assert_eq!(of("DEL", error("ERR no such key")), "wrong");
    }

    #[test]
    fn the_mix_holds_every_kind_of_request_and_its_values_grow() {
        let address = Address::tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
        let values = Values::new(1, 1 << 17);
        let mean = |ago_s: f64| {
            let shared = Shared {
                address: &address,
                order: Hostile { clients: 10, keys: 100, seconds: 10.0 },
                values: &values,
                longest: 1 << 17,
                seed: 1,
                begin: Instant::now().checked_sub(seconds(ago_s)).unwrap(),
                over: AtomicBool::new(false),
                refused: AtomicU64::new(0),
                lost: AtomicU64::new(0),
            };
            let mut rng = fastrand::Rng::with_seed(3);
            let bytes = vec![7; 1 << 17];
            let drawn: Vec<_> = (0..20_000).map(|_| draw(&shared, &mut rng, &bytes)).collect();
            for name in ["SET", "APPEND", "DEL", "MSET", "EXPIRE", "RENAME", "GET"] {
                assert!(drawn.iter().any(|words| words[0] == name.as_bytes()), "{name}");
            }
            let sets: Vec<usize> =
                drawn.iter().filter(|words| words[0] == b"SET").map(|words| words[2].len()).collect();
            sets.iter().sum::<usize>() as f64 / sets.len() as f64
        };
        assert!(mean(9.9) > 3.0 * mean(0.0));
    }
}
