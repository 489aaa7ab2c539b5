//! Buffers of a connection: what moves where, and what is given back.

use super::*;
use crate::session::test_support::Driver;

/// Feeds `bytes` as a back end would, in receives of at most `size`, and answers all replies; `take` says how many
/// bytes the socket accepts of each send.
fn exchange(connection: &mut Connection, driver: &Driver, bytes: &[u8], size: usize, take: usize) -> Vec<u8> {
    let mut buffers = Buffers::new();
    let mut replies = Vec::new();
    let mut at = 0;
    loop {
        let unsent = connection.unsent().len().min(take);
        replies.extend_from_slice(&connection.unsent()[..unsent]);
        connection.mark_sent(unsent);
        if connection.can_resume() {
            connection.execute(&driver.shared, &mut buffers, Place::Own);
        } else if connection.wants_input() && at < bytes.len() {
            let (buffer, place) = connection.prepare_input(&driver.shared, &mut buffers).unwrap();
            let room = buffer.capacity() - buffer.len();
            assert!(room > 0, "nothing could be received");
            let end = bytes.len().min(at + size.min(room));
            buffer.extend_from_slice(&bytes[at..end]);
            at = end;
            connection.execute(&driver.shared, &mut buffers, place);
        }
        let sent = buffers.output.len().min(take);
        replies.extend_from_slice(&buffers.output[..sent]);
        if !buffers.output.is_empty() {
            connection.keep_unsent(&mut buffers, sent);
        }
        assert!(buffers.input.capacity() <= RECEIVE_BYTES, "the shared buffer grew");
        if at == bytes.len() && connection.unsent().is_empty() && !connection.can_resume() {
            return replies;
        }
    }
}

/// As [`exchange`], as a back end does whose bytes and replies lie with the kernel.
fn exchange_elsewhere(
    connection: &mut Connection,
    driver: &Driver,
    bytes: &[u8],
    size: usize,
    take: usize,
) -> Vec<u8> {
    let (mut replies, mut sending, mut sent, mut at) = (Vec::new(), Vec::new(), 0, 0);
    loop {
        if at < bytes.len() && connection.wants_input() {
            let end = bytes.len().min(at + size);
            let output = (sending.is_empty()).then_some(&mut sending);
            assert!(connection.hear(&driver.shared, &bytes[at..end], output));
            at = end;
        }
        connection.set_in_flight(sending.len() - sent);
        let end = sending.len().min(sent + take);
        replies.extend_from_slice(&sending[sent..end]);
        sent = end;
        connection.set_in_flight(sending.len() - sent);
        if sent == sending.len() {
            sending.clear();
            sent = 0;
            connection.take_output(&mut sending);
            if sending.is_empty() && connection.can_resume() {
                connection.resume(&driver.shared, &mut sending);
            }
        }
        if at == bytes.len() && sending.is_empty() && !connection.can_resume() {
            return replies;
        }
    }
}

fn connection(driver: &Driver) -> Connection {
    let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
    Connection::new(Session::new(&driver.shared, entry), 0)
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
        let mut connection = connection(&driver);
        let replies = exchange(&mut connection, &driver, &bytes, size, take);
        assert!(replies == expected, "receives of {size}, sends of {take}");
        assert!(connection.unsent().is_empty());
        let mut other = self::connection(&driver);
        let replies = exchange_elsewhere(&mut other, &driver, &bytes, size, take);
        assert!(replies == expected, "receives of {size}, sends of {take}, elsewhere");
    }
}

#[test]
fn a_pipeline_beyond_the_high_water_mark_goes_on_in_order() {
    let driver = Driver::new();
    let value = "v".repeat(300_000);
    let mut bytes = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len()).into_bytes();
    let mut expected = b"+OK\r\n".to_vec();
    for round in 0..30 {
        bytes.extend_from_slice(format!("get k\r\necho {round}\r\n").as_bytes());
        let echo = round.to_string();
        expected.extend_from_slice(format!("$300000\r\n{value}\r\n${}\r\n{echo}\r\n", echo.len()).as_bytes());
    }
    for (size, take) in [(1 << 20, 1 << 30), (4096, 70_000), (100, 1 << 20)] {
        let replies = exchange(&mut connection(&driver), &driver, &bytes, size, take);
        assert!(replies == expected, "receives of {size}, sends of {take}");
        let replies = exchange_elsewhere(&mut connection(&driver), &driver, &bytes, size, take);
        assert!(replies == expected, "receives of {size}, sends of {take}, elsewhere");
    }
}

#[test]
fn an_idle_connection_holds_no_buffers() {
    let driver = Driver::new();
    let mut connection = connection(&driver);
    let value = "v".repeat(5 << 20);
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\nget k\r\n", value.len());
    exchange(&mut connection, &driver, request.as_bytes(), 1 << 20, 100_000);
    assert!(connection.input.capacity() <= KEPT_BYTES && connection.output.capacity() <= KEPT_BYTES);
    connection.release_memory();
    assert_eq!(connection.input.capacity() + connection.output.capacity(), 0);
}

#[test]
fn memory_for_a_request_grows_only_as_it_arrives() {
    let driver = Driver::new();
    let mut connection = connection(&driver);
    let head = b"*2\r\n$3\r\nGET\r\n$500000000\r\n";
    exchange(&mut connection, &driver, head, 1 << 20, 1 << 20);
    let mut buffers = Buffers::new();
    let (buffer, place) = connection.prepare_input(&driver.shared, &mut buffers).unwrap();
    assert_eq!(place, Place::Own);
    assert!(buffer.capacity() <= 2 * GROWTH_BYTES, "{}", buffer.capacity());
}

#[test]
fn a_slow_reader_is_not_listened_to() {
    let driver = Driver::new();
    let mut connection = connection(&driver);
    exchange(
        &mut connection,
        &driver,
        format!("set k {}\r\n", "v".repeat(50_000)).as_bytes(),
        1 << 16,
        1 << 20,
    );
    let mut buffers = Buffers::new();
    let (buffer, place) = connection.prepare_input(&driver.shared, &mut buffers).unwrap();
    buffer.extend_from_slice(&b"get k\r\n".repeat(1000));
    connection.execute(&driver.shared, &mut buffers, place);
    connection.keep_unsent(&mut buffers, 0);
    assert!(connection.unsent().len() >= OUTPUT_HIGH_WATER);
    assert!(!connection.wants_input() && !connection.can_resume());
    let unsent = connection.unsent().len();
    connection.mark_sent(unsent - 10);
    assert!(connection.can_resume(), "what was held back goes on once replies have left");
}

#[test]
fn after_the_end_nothing_is_executed() {
    let driver = Driver::new();
    let mut connection = connection(&driver);
    let replies = exchange(&mut connection, &driver, b"quit\r\nset k v\r\n", 1 << 16, 1 << 16);
    assert_eq!(replies, b"+OK\r\n");
    assert!(connection.is_finished() && !connection.wants_input());
    assert_eq!(driver.shared.database.len(), 0);
}
