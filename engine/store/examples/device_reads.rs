//! How long does one block from the device take, whatever asks for it? That is the floor under every get that finds nothing in memory (Linux only).
//!
//! ```text
//! head -c 2G /dev/urandom > FILE && sync
//! cargo run --release -p plumbkv --example device_reads -- FILE [ROUNDS]
//! ```
//!
//! One thread reads as many bytes as a block of the durable store has, from places drawn uniformly, each way for a second a round, in another order every round; before each the
//! file is put out of the page cache. Run it in a cgroup with a memory limit, with the page cache charged, to see a store that is larger than its memory.

use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use rustix::io::{ReadWriteFlags, preadv2};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// What a block of 2 KiB takes in its file, of values that halve.
const BLOCK: u64 = 1_592;
const PAGE: u64 = 4_096;
const SECTOR: u64 = 512;
const ROUND: Duration = Duration::from_secs(1);

/// `RWF_DONTCACHE`: through the page cache, and out of it at once (Linux 6.14).
const UNCACHED: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

#[derive(Clone, Copy)]
enum Way {
    Plain,
    OnePage,
    Direct,
    Uncached,
    AskedFirst,
    Awake,
}

const WAYS: [(Way, &str); 6] = [
    (Way::Plain, "as a store with memory to spare reads: through the page cache, blocks lie anywhere"),
    (Way::OnePage, "blocks never lie in two pages"),
    (Way::Direct, "past the page cache (O_DIRECT), whole sectors"),
    (Way::Uncached, "through the page cache and out of it again (RWF_DONTCACHE)"),
    (Way::AskedFirst, "the page cache is asked first (RWF_NOWAIT), then past it"),
    (Way::Awake, "RWF_DONTCACHE, and a thread of the lowest priority (SCHED_IDLE) that spins meanwhile"),
];

struct Reader {
    file: File,
    direct: File,
    len: u64,
    space: Vec<u8>,
}

impl Reader {
    /// The part of a file from one multiple of `unit` to another that a block lies in.
    fn whole(at: u64, unit: u64) -> (u64, usize) {
        let begin = at / unit * unit;
        (begin, ((at + BLOCK).next_multiple_of(unit) - begin) as usize)
    }

    fn read(&mut self, way: Way, at: u64) -> std::io::Result<()> {
        let skipped = self.space.as_ptr().align_offset(PAGE as usize);
        let space = &mut self.space[skipped..];
        let flagged = |space: &mut [u8], flags| {
            preadv2(&self.file, &mut [IoSliceMut::new(&mut space[..BLOCK as usize])], at, flags)
        };
        let past = |space: &mut [u8]| {
            let (begin, len) = Self::whole(at, SECTOR);
            self.direct.read_exact_at(&mut space[..len], begin)
        };
        match way {
            Way::Plain => self.file.read_exact_at(&mut space[..BLOCK as usize], at),
            Way::OnePage => self.file.read_exact_at(&mut space[..BLOCK as usize], at / PAGE * PAGE),
            Way::Direct => past(space),
            Way::Uncached | Way::Awake => Ok(flagged(space, UNCACHED).map(drop)?),
            Way::AskedFirst => match flagged(space, ReadWriteFlags::NOWAIT) {
                Ok(count) if count as u64 == BLOCK => Ok(()),
                _ => past(space),
            },
        }
    }
}

/// A thread that spins between the first word and the second, at the lowest priority there is.
struct Spinner(mpsc::Sender<bool>, Arc<AtomicBool>);

impl Spinner {
    fn start() -> Self {
        let ((sender, receiver), is_on) = (mpsc::channel(), Arc::new(AtomicBool::new(false)));
        let spins = Arc::clone(&is_on);
        std::thread::spawn(move || {
            let lowest = libc::sched_param { sched_priority: 0 };
            // SAFETY: reads a value of its own; the policy is that of this thread alone.
            let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const lowest) };
            assert_eq!(done, 0, "the system gives no thread the policy SCHED_IDLE");
            while receiver.recv() == Ok(true) {
                while spins.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        Self(sender, is_on)
    }

    fn set(&self, is_on: bool) {
        self.1.store(is_on, Ordering::Relaxed);
        if is_on {
            self.0.send(true).expect("the thread waits for more");
        }
    }
}

/// What this thread has used of a processor, and what has passed.
fn now() -> (f64, Instant) {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3, Instant::now())
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file? It is read, and should be larger than memory")?;
    let rounds: usize = arguments.next().map_or(Ok(7), |rounds| rounds.parse())?;
    let direct = open(&path, OFlags::RDONLY | OFlags::DIRECT, Mode::empty())?;
    let file = File::open(&path)?;
    let len = file.metadata()?.len();
    if len < 1 << 20 || rounds == 0 {
        return Err("the file must have a mebibyte or more, and there must be a round".into());
    }
    let mut reader = Reader { file, direct: direct.into(), len, space: vec![0; 4 * PAGE as usize] };
    let (spinner, mut random) = (Spinner::start(), fastrand::Rng::new());
    let mut figures = WAYS.map(|_| (Vec::new(), Vec::new(), Vec::new()));
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..WAYS.len()).collect();
        random.shuffle(&mut order);
        for way in order {
            fadvise(&reader.file, 0, None, Advice::DontNeed)?;
            spinner.set(matches!(WAYS[way].0, Way::Awake));
            let (mut latencies, (cpu, begin)) = (Vec::new(), now());
            while begin.elapsed() < ROUND {
                let (at, asked) = (random.u64(0..reader.len - 4 * PAGE), Instant::now());
                reader.read(WAYS[way].0, at)?;
                latencies.push(asked.elapsed().as_secs_f64() * 1e6);
            }
            let (count, (cpu_after, end)) = (latencies.len() as f64, now());
            figures[way].0.push((end - begin).as_secs_f64() * 1e6 / count);
            figures[way].1.push(median(&mut latencies));
            figures[way].2.push((cpu_after - cpu) / count);
        }
    }
    println!("medians of {rounds} rounds, microseconds a read\n\n   mean     p50     CPU");
    for ((_, name), (mean, p50, cpu)) in WAYS.iter().zip(&mut figures) {
        println!("{:7.1} {:7.1} {:7.1}  {name}", median(mean), median(p50), median(cpu));
    }
    Ok(())
}
