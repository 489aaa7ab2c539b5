//! Transactions on real sockets: money that is moved between accounts is never lost or made.
//!
//! `PLUMBKV_FAULTS=full` kills a durable server 100 times in the middle of transfers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::{Client, request_of};
use crate::faults::scaled;
use crate::server::{Server, plumbkv};

const ACCOUNTS: u64 = 64;
const BALANCE: u64 = 1_000;
const CLIENTS: usize = 16;

fn open_accounts(client: &mut Client) {
    for account in 0..ACCOUNTS {
        client.check(&format!("SET account:{account} {BALANCE}"), b"+OK\r\n");
    }
}

/// The sum of all accounts, as of one moment.
fn sum(client: &mut Client) -> u64 {
    let keys: String = (0..ACCOUNTS).map(|account| format!(" account:{account}")).collect();
    client.send(format!("MGET{keys}\r\n").as_bytes());
    let reply = String::from_utf8(client.receive()).unwrap();
    let balances = reply.split("\r\n").skip(2).step_by(2).filter_map(|balance| balance.parse::<u64>().ok());
    let balances: Vec<u64> = balances.collect();
    assert_eq!(balances.len() as u64, ACCOUNTS, "{reply}");
    balances.iter().sum()
}

fn balance(client: &mut Client, account: u64) -> Option<u64> {
    client.send(format!("GET account:{account}\r\n").as_bytes());
    let reply = String::from_utf8(client.receive_if_open()?).unwrap();
    Some(reply.split("\r\n").nth(1).unwrap().parse().unwrap())
}

/// Moves some of what one account has to another. False where other clients came before; `None` when the
/// connection has ended.
fn transfer(client: &mut Client, from: u64, to: u64, random: u64) -> Option<bool> {
    client.try_send(format!("WATCH account:{from} account:{to}\r\n").as_bytes()).ok()?;
    assert_eq!(client.receive_if_open()?, b"+OK\r\n");
    let (has, gets) = (balance(client, from)?, balance(client, to)?);
    let amount = if has == 0 { 0 } else { random % has + 1 };
    let wire = format!(
        "MULTI\r\nSET account:{from} {}\r\nSET account:{to} {}\r\nEXEC\r\n",
        has - amount,
        gets + amount
    );
    client.try_send(wire.as_bytes()).ok()?;
    for expected in [&b"+OK\r\n"[..], b"+QUEUED\r\n", b"+QUEUED\r\n"] {
        assert_eq!(client.receive_if_open()?, expected);
    }
    let reply = client.receive_if_open()?;
    assert!(reply == b"*2\r\n+OK\r\n+OK\r\n" || reply == b"*-1\r\n", "{}", reply.escape_ascii());
    Some(reply.starts_with(b"*2"))
}

/// Moves some of what one account has to another in a script.
fn transfer_by_script(client: &mut Client, from: u64, to: u64, random: u64) -> Option<bool> {
    const SCRIPT: &str = "local has = tonumber(redis.call('GET', KEYS[1])) \
                          if has == 0 then return 0 end \
                          local amount = ARGV[1] % has + 1 \
                          redis.call('DECRBY', KEYS[1], amount) \
                          redis.call('INCRBY', KEYS[2], amount) \
                          return amount";
    let amount = random % 1_000;
    let request = request_of(&[
        b"EVAL",
        SCRIPT.as_bytes(),
        b"2",
        format!("account:{from}").as_bytes(),
        format!("account:{to}").as_bytes(),
        amount.to_string().as_bytes(),
    ]);
    client.try_send(&request).ok()?;
    let reply = client.receive_if_open()?;
    assert!(reply.starts_with(b":"), "{}", reply.escape_ascii());
    Some(reply != b":0\r\n")
}

/// How money is moved.
type Transfer = fn(&mut Client, u64, u64, u64) -> Option<bool>;

const WAYS: [(&str, Transfer); 2] = [("WATCH and MULTI", transfer), ("EVAL", transfer_by_script)];

fn clients(server: &Server) -> Vec<Client> {
    (0..CLIENTS).map(|_| server.client()).collect()
}

/// Many clients move money for some time, or until the server ends; how often that was done.
fn move_money(clients: Vec<Client>, time: Duration, transfer: Transfer) -> u64 {
    let (done, begin) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for (own, mut client) in clients.into_iter().enumerate() {
            let done = &done;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(own as u64);
                while begin.elapsed() < time {
                    let from = random.u64(0..ACCOUNTS);
                    let to = (from + 1 + random.u64(0..ACCOUNTS - 1)) % ACCOUNTS;
                    match transfer(&mut client, from, to, random.u64(..)) {
                        Some(true) => drop(done.fetch_add(1, Ordering::Relaxed)),
                        Some(false) => {}
                        None => return,
                    }
                }
            });
        }
    });
    done.into_inner()
}

/// A durable server hands requests of many words to a worker: those of a transaction are queued all the same.
#[test]
fn requests_of_many_words_are_queued_and_others_see_nothing_before_exec() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    let pairs: String = (0..500).map(|number| format!(" key:{number} {number}")).collect();
    let keys: String = (0..500).map(|number| format!(" key:{number}")).collect();
    client.check("MULTI", b"+OK\r\n");
    client.check(&format!("MSET{pairs}"), b"+QUEUED\r\n");
    client.check(&format!("EXISTS{keys}"), b"+QUEUED\r\n");
    client.check("KEYS key:1*", b"+QUEUED\r\n");
    other.check(&format!("EXISTS{keys}"), b":0\r\n");
    client.send(b"EXEC\r\n");
    let reply = client.receive();
    assert!(reply.starts_with(b"*3\r\n+OK\r\n:500\r\n*111\r\n"), "{}", reply[..40].escape_ascii());
    other.check(&format!("EXISTS{keys}"), b":500\r\n");
    // The conversation goes on, and a watch of many keys is one, too.
    client.check(&format!("WATCH{keys}"), b"+OK\r\n");
    other.check("DEL key:499", b":1\r\n");
    client.check("MULTI", b"+OK\r\n");
    client.check("PING", b"+QUEUED\r\n");
    client.check("EXEC", b"*-1\r\n");
    // Behind MULTI in one write, also the end of the connection.
    client.send(b"MULTI\r\nSET last 1\r\nEXEC\r\nMULTI\r\nSET last 2\r\nQUIT\r\n");
    let (replies, is_closed) = client.receive_to_end(Duration::from_secs(5));
    assert_eq!(replies, b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n+OK\r\n+QUEUED\r\n+OK\r\n");
    assert!(is_closed);
    other.check("GET last", b"$1\r\n1\r\n");
}

/// The commands before one that commits them in part were answered: they may not be lost while EXEC succeeds.
#[test]
fn a_transaction_above_the_memory_of_a_batch_fails_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = Server::start(&["--data", path, "--memory-budget", "1mib"]);
    let mut client = server.client();
    let value = "v".repeat(20_000);
    for middle in ["PING", "KEYS *", "FLUSHALL"] {
        client.check("SET before 1", b"+OK\r\n");
        client.check("MULTI", b"+OK\r\n");
        for number in 0..20 {
            client.check(&format!("SET key:{number} {value}"), b"+QUEUED\r\n");
        }
        client.check(middle, b"+QUEUED\r\n");
        client.check("SET after 1", b"+QUEUED\r\n");
        client.send(b"EXEC\r\n");
        let reply = String::from_utf8(client.receive()).unwrap();
        assert!(reply.starts_with("-ERR the batch has"), "{middle}: {reply}");
        client.check("EXISTS key:0 key:1 after", b":0\r\n");
        client.check("GET before", b"$1\r\n1\r\n");
    }
}

#[test]
fn transfers_are_seen_whole_or_not_at_all() {
    for (threads, (way, transfer)) in
        ["1", "2"].into_iter().flat_map(|threads| WAYS.map(|way| (threads, way)))
    {
        let server = Server::start(&["--io-threads", threads]);
        let mut client = server.client();
        open_accounts(&mut client);
        let time = Duration::from_secs(scaled(1, 20) as u64);
        let is_over = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            let (mut looker, is_over) = (server.client(), &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(sum(&mut looker), ACCOUNTS * BALANCE);
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let done = move_money(clients(&server), time, transfer);
            is_over.store(true, Ordering::Relaxed);
            done
        });
        assert_eq!(sum(&mut client), ACCOUNTS * BALANCE);
        assert!(done > 100, "only {done} transfers were done");
        println!("{done} transfers by {way} in {time:?} on {threads} threads");
    }
}

#[test]
fn transfers_survive_a_kill_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", path, "--sync", "always"];
    let kills = scaled(4, 100);
    let mut transfers = 0;
    let mut server = Server::spawn(plumbkv(&arguments));
    open_accounts(&mut server.client());
    for kill in 0..kills {
        let (_, transfer) = WAYS[kill % WAYS.len()];
        assert_eq!(sum(&mut server.client()), ACCOUNTS * BALANCE, "before kill {kill}");
        transfers += std::thread::scope(|scope| {
            let clients = clients(&server);
            let moving = scope.spawn(|| move_money(clients, Duration::from_secs(20), transfer));
            std::thread::sleep(Duration::from_millis(200 + 37 * (kill as u64 % 5)));
            server.signal(Signal::KILL);
            moving.join().unwrap()
        });
        server.wait();
        server = Server::spawn(plumbkv(&arguments));
    }
    assert_eq!(sum(&mut server.client()), ACCOUNTS * BALANCE);
    assert!(transfers > 0);
    println!("{kills} kills in the middle of {transfers} transfers: nothing was lost");
}
