//! Buffers of a connection: what is kept, what is executed where it lies, what is refused, and what is given back.

use std::io::Read as _;
use std::os::unix::net::UnixStream;

use std::os::fd::OwnedFd;

use super::*;
use crate::reactor::pending::send_replies;
use crate::session::TURN_REQUESTS;
use crate::session::test_support::Driver;

/// A connection, its socket, and the client's end of that.
struct Talk<'a> {
    driver: &'a Driver,
    connection: Connection,
    pool: Pool,
    replies: Replies,
    socket: OwnedFd,
    client: UnixStream,
}

impl<'a> Talk<'a> {
    fn new(driver: &'a Driver) -> Self {
        let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
        let (socket, client) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        Self {
            driver,
            connection: Connection::new(Session::new(&driver.shared, entry), 0),
            pool: Pool::new(),
            replies: Replies::new(),
            socket: socket.into(),
            client,
        }
    }

    /// Sends the replies of a turn, as a back end does.
    fn deliver(&mut self) {
        let Self { driver, connection, pool, replies, socket, .. } = self;
        let part = (Mark { bytes: 0, values: 0 }, replies.mark());
        let sent = if connection.is_waiting() { 0 } else { send_replies(socket, replies, part).unwrap() };
        connection.keep_replies(&driver.shared, pool, replies, part, sent).unwrap();
        replies.clear(&driver.shared);
    }

    fn hear(&mut self, bytes: &[u8]) {
        let Self { driver, connection, pool, replies, .. } = self;
        connection.hear(&driver.shared, pool, bytes, replies).unwrap();
        self.deliver();
    }

    /// Feeds `bytes` in receives of at most `size`; the client takes up to `take` bytes after each. `own` says that long requests are
    /// received where they are kept.
    fn exchange(&mut self, bytes: &[u8], size: usize, take: usize, own: bool) -> Vec<u8> {
        let shared = &self.driver.shared;
        let (mut at, mut answer, mut buffer) = (0, Vec::new(), vec![0; take]);
        loop {
            self.connection.begin_turn();
            if self.connection.can_resume(shared) {
                let Self { connection, pool, replies, .. } = self;
                connection.resume(shared, pool, replies);
                self.deliver();
            } else if at < bytes.len() && self.connection.wants_input(shared) {
                let room = if own { self.connection.own_room(shared, &mut self.pool) } else { None };
                if let Some(room) = room {
                    let count = size.min(room.len()).min(bytes.len() - at);
                    room[..count].copy_from_slice(&bytes[at..at + count]);
                    at += count;
                    let Self { connection, pool, replies, .. } = self;
                    connection.hear_own(shared, pool, count, replies);
                    self.deliver();
                } else {
                    let end = bytes.len().min(at + size);
                    self.hear(&bytes[at..end]);
                    at = end;
                }
            }
            let taken = self.client.read(&mut buffer).unwrap_or(0);
            answer.extend_from_slice(&buffer[..taken]);
            assert!(self.connection.flush(&mut self.pool, &self.socket));
            if taken == 0
                && at == bytes.len()
                && !self.connection.is_waiting()
                && !self.connection.can_resume(shared)
            {
                return answer;
            }
        }
    }

    /// Feeds `bytes` as long as they are taken, while the client reads nothing; returns how many were.
    fn write_only(&mut self, bytes: &[u8]) -> usize {
        let shared = &self.driver.shared;
        let mut at = 0;
        loop {
            self.connection.begin_turn();
            let Self { connection, pool, replies, .. } = self;
            if connection.must_resume(shared) || (connection.can_resume(shared) && !connection.is_waiting()) {
                connection.resume(shared, pool, replies);
                self.deliver();
            } else if at < bytes.len() && connection.wants_input(shared) {
                let end = bytes.len().min(at + RECEIVE_BYTES);
                self.hear(&bytes[at..end]);
                at = end;
            } else {
                return at;
            }
        }
    }

    fn reserved(&self) -> u64 {
        self.driver.shared.database.stats().reserved_bytes
    }
}

#[test]
fn any_receive_and_send_sizes_give_the_same_replies() {
    let driver = Driver::new();
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for round in 0..20 {
        let value = vec![b'a' + round as u8; 7919 * round];
        bytes.extend_from_slice(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", value.len()).as_bytes());
        bytes.extend_from_slice(&value);
        bytes.extend_from_slice(b"\r\nget k\r\nping\r\n");
        expected.extend_from_slice(format!("+OK\r\n${}\r\n", value.len()).as_bytes());
        expected.extend_from_slice(&value);
        expected.extend_from_slice(b"\r\n+PONG\r\n");
    }
    for (size, take) in [(1 << 20, 1 << 30), (1 << 20, 1000), (977, 4096), (13, 1 << 20)] {
        for own in [true, false] {
            let mut talk = Talk::new(&driver);
            let answer = talk.exchange(&bytes, size, take.min(1 << 22), own);
            assert!(answer == expected, "receives of {size}, sends of {take}, {own}");
            assert!(!talk.connection.is_waiting());
            assert_eq!(talk.reserved(), 0, "nothing waits, nothing is kept");
        }
    }
}

#[test]
fn a_pipeline_beyond_a_turns_replies_goes_on_in_order() {
    let driver = Driver::new();
    let value = "v".repeat(300_000);
    let mut bytes = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len()).into_bytes();
    bytes.extend_from_slice(format!("set short {}\r\n", "s".repeat(9000)).as_bytes());
    let mut expected = b"+OK\r\n+OK\r\n".to_vec();
    for round in 0..30 {
        bytes.extend_from_slice(format!("get k\r\nget short\r\nmget short k\r\necho {round}\r\n").as_bytes());
        let short = format!("$9000\r\n{}\r\n", "s".repeat(9000));
        let long = format!("$300000\r\n{value}\r\n");
        let echo = round.to_string();
        let echo = format!("${}\r\n{echo}\r\n", echo.len());
        expected.extend_from_slice(format!("{long}{short}*2\r\n{short}{long}{echo}").as_bytes());
    }
    for (size, take) in [(1 << 20, 1 << 22), (4096, 70_000), (100, 1 << 20)] {
        let answer = Talk::new(&driver).exchange(&bytes, size, take, true);
        assert!(answer == expected, "receives of {size}, sends of {take}");
    }
}

#[test]
fn memory_for_a_request_grows_only_as_it_arrives() {
    let driver = Driver::with_options(|options| options, 2 << 30);
    let mut talk = Talk::new(&driver);
    talk.hear(b"*2\r\n$3\r\nGET\r\n$500000000\r\n");
    assert!(talk.reserved() <= RECEIVE_BYTES as u64, "{}", talk.reserved());
    talk.hear(&[b'x'; 200_000]);
    assert!(talk.reserved() <= 450_000, "{}", talk.reserved());
    talk.connection.release(&driver.shared, &mut talk.pool);
    assert_eq!(talk.reserved(), 0);
}

#[test]
fn a_request_that_cannot_fit_is_answered_and_stepped_over() {
    let driver = Driver::with_options(|options| options, 2 << 20);
    let long = "v".repeat(1_500_000);
    let bytes = format!(
        "set a 1\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{long}\r\nget a\r\n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n",
        long.len()
    );
    for size in [1 << 20, 4096, 333] {
        let mut talk = Talk::new(&driver);
        let answer = String::from_utf8(talk.exchange(bytes.as_bytes(), size, 1 << 20, true)).unwrap();
        assert_eq!(answer, format!("+OK\r\n-{TOO_LONG}\r\n$1\r\n1\r\n$1\r\nx\r\n"), "receives of {size}");
        assert_eq!(talk.reserved(), 0);
        assert!(!driver.shared.database.exists(b"k").unwrap());
    }
}

#[test]
fn what_follows_a_refused_request_at_the_end_of_a_turn_is_executed_in_the_next() {
    let driver = Driver::with_options(|options| options, 2 << 20);
    let mut talk = Talk::new(&driver);
    let ping = b"*1\r\n$4\r\nPING\r\n";
    let pings = TURN_REQUESTS - 1;
    let head = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1500000\r\n";
    talk.hear(&[&ping.repeat(pings), &head[..]].concat());
    talk.hear(&[b'v'; 1_500_000]);
    talk.hear(&[b"\r\n", &ping[..], &ping[..]].concat());
    let answer = talk.exchange(&[], 1, 1 << 20, false);
    let expected = format!("{}-{TOO_LONG}\r\n+PONG\r\n+PONG\r\n", "+PONG\r\n".repeat(pings));
    assert!(answer == expected.as_bytes(), "{}", String::from_utf8_lossy(&answer[answer.len() - 150..]));
}

#[test]
fn a_full_store_that_evicts_nothing_still_answers() {
    let driver = Driver::with_options(|options| options.policy(plumbkv::Policy::NoEviction), 2 << 20);
    while driver.shared.database.set(&driver.shared.database.len().to_be_bytes(), &[1; 500]).is_ok() {}
    let mut talk = Talk::new(&driver);
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n{}\r\nping\r\n", "v".repeat(100_000));
    let answer = talk.exchange(request.as_bytes(), 5000, 1 << 20, true);
    assert_eq!(String::from_utf8(answer).unwrap(), format!("-{TOO_LONG}\r\n+PONG\r\n"));
}

#[test]
fn a_request_that_is_refused_when_all_of_it_is_kept_takes_none_of_the_next_with_it() {
    let driver = Driver::with_options(|options| options.policy(plumbkv::Policy::NoEviction), 2 << 20);
    let database = &driver.shared.database;
    while database.set(&database.len().to_be_bytes(), &[1; 500]).is_ok() {}
    // More arguments than any request may have, and no memory for them.
    while driver.shared.client_memory.take(database, 64).is_ok() {}
    let many = format!("*100\r\n{}", "$3\r\nDEL\r\n".repeat(100));
    let ping = "*1\r\n$4\r\nPING\r\n";
    let wire = format!("{many}{ping}{many}{ping}");
    let expected = format!("-{TOO_LONG}\r\n+PONG\r\n").repeat(2);
    for at in 1..wire.len() {
        let mut talk = Talk::new(&driver);
        talk.hear(&wire.as_bytes()[..at]);
        let answer = String::from_utf8(talk.exchange(&wire.as_bytes()[at..], wire.len(), 1 << 20, false));
        assert_eq!(answer.unwrap(), expected, "cut at {at}");
    }
}

#[test]
fn requests_with_longer_replies_are_kept_until_the_client_reads() {
    let driver = Driver::new();
    let mut talk = Talk::new(&driver);
    talk.exchange(format!("set k {}\r\n", "v".repeat(1000)).as_bytes(), 1 << 16, 1 << 20, false);
    let count = 60_000;
    let wire: Vec<u8> =
        (0..count).flat_map(|number| format!("get k\r\necho {number:08}\r\n").into_bytes()).collect();
    assert_eq!(talk.write_only(&wire), wire.len(), "the client can write all of it before it reads");
    assert!(talk.connection.pending.len() < (1 << 20) + (128 << 10), "{}", talk.connection.pending.len());
    let most = (wire.len() + (2 << 20)) as u64;
    assert!(talk.reserved() >= 1 << 20, "replies and requests that wait are counted");
    assert!(talk.reserved() <= most, "{} bytes for {} of requests", talk.reserved(), wire.len());
    let answer = talk.exchange(&[], 1, 1 << 20, false);
    let value = format!("$1000\r\n{}\r\n", "v".repeat(1000));
    let mut rest = &answer[..];
    for number in 0..count {
        let expected = format!("{value}$8\r\n{number:08}\r\n");
        assert!(rest.starts_with(expected.as_bytes()), "the replies of round {number} are others");
        rest = &rest[expected.len()..];
    }
    assert!(rest.is_empty());
    assert_eq!(talk.reserved(), 0);
}

#[test]
fn requests_with_shorter_replies_are_executed_although_nothing_is_read() {
    let driver = Driver::new();
    let mut talk = Talk::new(&driver);
    let count = 500_000;
    let wire = b"incrby n 1000000000\r\n".repeat(count);
    assert_eq!(talk.write_only(&wire), wire.len());
    let executed = driver.shared.database.get(b"n").unwrap().unwrap();
    let executed: u64 = std::str::from_utf8(&executed).unwrap().parse().unwrap();
    assert!(executed / 1_000_000_000 > count as u64 - 10_000, "{executed}");
    assert!(talk.connection.unexecuted() <= 2 * RECEIVE_BYTES, "{}", talk.connection.unexecuted());
    let answer = talk.exchange(&[], 1, 1 << 20, false);
    assert!(answer.ends_with(format!(":{}\r\n", count as u64 * 1_000_000_000).as_bytes()));
    assert_eq!(talk.reserved(), 0);
}

/// Writes more than the limits allow, then reads; the error comes behind all replies before it.
fn exceed(driver: &Driver, error: &str) {
    let mut talk = Talk::new(driver);
    talk.exchange(format!("set k {}\r\n", "v".repeat(1000)).as_bytes(), 1 << 16, 1 << 20, false);
    let wire: Vec<u8> =
        (0..150_000).flat_map(|number| format!("get k\r\necho {number:08}\r\n").into_bytes()).collect();
    assert_eq!(talk.write_only(&wire), wire.len(), "the rest is received, and discarded");
    assert!(talk.connection.is_closing() && !talk.connection.is_finished());
    assert!(talk.reserved() < 4 << 20, "{}", talk.reserved());
    let answer = talk.exchange(&[], 1, 1 << 20, false);
    let text = String::from_utf8(answer).unwrap();
    let (replies, last) = text.split_once('-').unwrap();
    assert_eq!(last, format!("{error}; the connection is closed\r\n"));
    let numbers = replies.split("$8\r\n").skip(1).map(|rest| rest[..8].parse::<usize>().unwrap());
    assert!(numbers.eq(0..replies.matches("$8\r\n").count()));
    assert!(talk.connection.is_finished());
    talk.connection.release(&driver.shared, &mut talk.pool);
    assert_eq!(talk.reserved(), 0);
}

#[test]
fn unread_replies_beyond_client_output_buffer_limit_end_the_conversation_with_its_name() {
    let driver = Driver::new();
    let mut admin = driver.connect();
    admin.check("config set client-output-buffer-limit 1mb client-query-buffer-limit 1mb", "+OK\r\n");
    exceed(&driver, "ERR unread replies exceed client-output-buffer-limit (1048576 bytes)");
}

#[test]
fn one_client_holds_no_more_than_a_part_of_the_cap() {
    let driver = Driver::with_options(|options| options, 4 << 20);
    exceed(&driver, "OOM unread replies exceed a quarter of maxmemory (1048576 bytes)");
}

#[test]
fn more_unread_replies_than_the_soft_limit_are_allowed_for_its_seconds() {
    let driver = Driver::new();
    driver.connect().check("config set client-output-buffer-limit 'normal 0 128kb 5'", "+OK\r\n");
    let mut talk = Talk::new(&driver);
    let shared = &driver.shared;
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$800000\r\n{}\r\n", "v".repeat(800_000));
    talk.exchange(set.as_bytes(), 1 << 16, 1 << 20, false);
    let over = |talk: &mut Talk<'_>, ms: u64| {
        shared.clock.advance(ms);
        talk.connection.overdue(shared)
    };
    talk.write_only(b"get k\r\n");
    assert!(talk.connection.pending.len() > 128 << 10);
    assert_eq!(over(&mut talk, 0), None);
    assert_eq!(over(&mut talk, 4_999), None);
    // A client that reads in time begins anew.
    talk.exchange(&[], 1, 1 << 20, false);
    assert_eq!(over(&mut talk, 1), None);
    talk.write_only(b"get k\r\n");
    assert_eq!(over(&mut talk, 0), None);
    assert_eq!(over(&mut talk, 4_999), None);
    let reason = over(&mut talk, 1).unwrap();
    assert_eq!(
        reason,
        "had more than 131072 bytes of unread replies for 5 s (client-output-buffer-limit, soft limit)"
    );
}

#[test]
fn a_turn_executes_no_more_than_its_share_and_the_rest_is_not_lost() {
    let driver = Driver::new();
    let mut talk = Talk::new(&driver);
    let request = b"*1\r\n$4\r\nPING\r\n";
    let bytes = request.repeat(30_000);
    // As pieces that the kernel has received and that complete in one turn.
    for piece in bytes.chunks(4096) {
        talk.hear(piece);
    }
    talk.connection.desert(&mut talk.pool);
    let (mut turns, mut answer) = (1usize, vec![0; 1 << 20]);
    let mut taken = talk.client.read(&mut answer).unwrap();
    assert_eq!(taken, TURN_REQUESTS * 7);
    while talk.connection.can_resume(&driver.shared) {
        let Talk { connection, pool, replies, .. } = &mut talk;
        connection.begin_turn();
        connection.resume(&driver.shared, pool, replies);
        talk.deliver();
        taken += talk.client.read(&mut answer).unwrap_or(0);
        turns += 1;
    }
    assert_eq!(taken, 30_000 * 7);
    assert_eq!(turns, 30_000usize.div_ceil(TURN_REQUESTS));
    assert!(talk.connection.is_finished());
    assert_eq!(talk.reserved(), 0);
}

#[test]
fn a_request_of_many_words_that_waits_is_read_in_few_turns() {
    let driver = Driver::new();
    let mut talk = Talk::new(&driver);
    let many = format!("*100001\r\n$6\r\nEXISTS\r\n{}", "$1\r\nk\r\n".repeat(100_000));
    // Held back behind others, all of it is there when its turn comes.
    talk.hear(&[&b"ping\r\n".repeat(TURN_REQUESTS + 1)[..], many.as_bytes()].concat());
    let mut turns = 0;
    while talk.connection.can_resume(&driver.shared) {
        let Talk { connection, pool, replies, .. } = &mut talk;
        connection.begin_turn();
        connection.resume(&driver.shared, pool, replies);
        talk.deliver();
        turns += 1;
    }
    let mut answer = vec![0; 1 << 20];
    let taken = talk.client.read(&mut answer).unwrap();
    assert!(answer[..taken].ends_with(b"+PONG\r\n:0\r\n"));
    assert!(turns <= many.len() / RECEIVE_BYTES + 3, "{turns} turns");
}

#[test]
fn after_the_end_nothing_is_executed() {
    let driver = Driver::new();
    let mut talk = Talk::new(&driver);
    assert_eq!(talk.exchange(b"quit\r\n", 1 << 16, 1 << 16, false), b"+OK\r\n");
    talk.hear(b"set k v\r\n");
    assert!(talk.connection.is_finished() && !talk.connection.wants_input(&driver.shared));
    assert_eq!(driver.shared.database.len(), 0);
}
