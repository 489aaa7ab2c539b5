//! DUMP and RESTORE beside payloads of Redis 7.0.15.

use super::*;
use crate::session::test_support::Driver;
use plumbkv_resp::compose;

/// Values and what Redis 7.0.15 dumps of them.
const DUMPED: [(&[u8], &[u8]); 9] = [
    (b"1234", b"\x00\xc1\xd2\x04\n\x00\x00\x87\x08\xa1D\x82\\\xed"),
    (b"hello", b"\x00\x05hello\n\x00cr\xdfve4 \n"),
    (b"ohmytext", b"\x00\x08ohmytext\n\x00\xb6]\xeb\xe1\x8c\x03\xed\x88"),
    (b"2147483647", b"\x00\xc2\xff\xff\xff\x7f\n\x00,t\xe5\x9e\xe0.\xad\xa1"),
    (b"2147483648", b"\x00\n2147483648\n\x00\xe7\xb1)\xa3L\x1dv\xee"),
    (b"127", b"\x00\xc0\x7f\n\x00\r\xb5\xeb1RT\xc5\x14"),
    (b"-128", b"\x00\xc0\x80\n\x00\x99f2m/\x0c[\xd9"),
    (b"128", b"\x00\xc1\x80\x00\n\x00\xebz\xb3\xb5\x10\xcfKe"),
    (b"-32769", b"\x00\xc2\xff\x7f\xff\xff\n\x00\xae\xe3LM\x06\xc6\x856"),
];

#[test]
fn payloads_are_those_of_redis() {
    for (value, dumped) in DUMPED {
        assert_eq!(payload(value), dumped, "{}", value.escape_ascii());
        assert_eq!(&*read(dumped, 100).unwrap(), value);
    }
}

#[test]
fn every_value_comes_back() {
    let long = b"abcdefgh".repeat(40_000);
    let random: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(20_000).collect();
    let values: [&[u8]; 8] =
        [b"", b"007", b"-0", &[b'x'; 63], &[b'x'; 64], &long, &random, b"12345678901234567890"];
    for value in values {
        assert_eq!(&*read(&payload(value), 1 << 20).unwrap(), value);
    }
    assert!(payload(&long).len() < long.len() / 10);
}

/// A payload with its checksum made right again.
fn signed(body: &[u8]) -> Vec<u8> {
    let mut payload = [body, &VERSION.to_le_bytes()].concat();
    let checksum = CRC.checksum(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

#[test]
fn what_is_no_payload_is_refused() {
    let whole = payload(&b"a value of some length ".repeat(10));
    for end in 0..whole.len() {
        assert_eq!(read(&whole[..end], 1 << 20).unwrap_err().text(), WRONG.text(), "{end}");
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        assert_eq!(read(&damaged, 1 << 20).unwrap_err().text(), WRONG.text(), "{place}");
    }
    // Right checksums, and nothing else.
    for body in [
        &b""[..],
        b"\x01\x05hello",
        b"\x00",
        b"\x00\x06hello",
        b"\x00\x04hello",
        b"\x00\x80\xff\xff\xff\xffhello",
        b"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xffhello",
        b"\x00\xc0",
        b"\x00\xc4x",
        b"\x00\xc3\x05\x05hello",
        b"\x00\xc3\x02\x80\x7f\xff\xff\xff\x00a",
        b"\x00\xc3\x00\x00",
    ] {
        assert_eq!(read(&signed(body), 1 << 20).unwrap_err().text(), BAD.text(), "{}", body.escape_ascii());
    }
    assert_eq!(read(&payload(&[b'x'; 101]), 100).unwrap_err().text(), BAD.text());
}

#[test]
fn a_dumped_key_is_restored_with_its_lifetime() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let mut restore = |words: &[&[u8]]| {
        let mut bytes = Vec::new();
        let words: Vec<&[u8]> = [&[&b"RESTORE"[..]], words].concat();
        compose(&words, &mut bytes);
        String::from_utf8(client.send(&bytes)).unwrap()
    };
    let payload = payload(b"hello");
    assert_eq!(restore(&[b"a", b"0", &payload]), "+OK\r\n");
    assert_eq!(restore(&[b"a", b"0", &payload]), "-BUSYKEY Target key name already exists.\r\n");
    assert_eq!(restore(&[b"a", b"1000000", &payload, b"replace"]), "+OK\r\n");
    assert_eq!(restore(&[b"b", b"1", &payload, b"ABSTTL"]), "+OK\r\n");
    assert_eq!(restore(&[b"c", b"0", &payload, b"idletime", b"5"]), "+OK\r\n");
    assert_eq!(restore(&[b"d", b"0", b"xx"]), "-ERR DUMP payload version or checksum are wrong\r\n");
    client.check_all(
        "mget a b c -> *3|$5|hello|$-1|$5|hello|
         ttl a -> :1000|
         ttl c -> :-1|
         restore a x y -> -BUSYKEY Target key name already exists.|
         restore n x y -> -ERR value is not an integer or out of range|
         restore n -1 y -> -ERR Invalid TTL value, must be >= 0|
         restore n 0 y replace foo -> -ERR syntax error|
         restore n 0 y idletime -> -ERR syntax error|
         restore n 0 y idletime -1 -> -ERR Invalid IDLETIME value, must be >= 0|
         restore n 0 y freq 256 -> -ERR Invalid FREQ value, must be >= 0 and <= 255|
         restore n 0 y freq 3 idletime 4 -> -ERR syntax error|
         dump none -> $-1|",
    );
}
