//! What may be sent to a server that is not ours?

/// Whether a request may go to where it would go: to a server that is not ours, nothing that changes anything but
/// keys that begin with our prefix, and nothing that changes how the server works.
pub(super) fn may_be_sent(key_prefix: &[u8], request: &[&[u8]]) -> bool {
    let Some((name, arguments)) = request.split_first() else { return false };
    if key_prefix.is_empty() {
        return true;
    }
    match name.to_ascii_uppercase().as_slice() {
        b"PING" | b"AUTH" | b"HELLO" | b"SELECT" | b"INFO" | b"DBSIZE" | b"SCAN" => true,
        b"SET" | b"GET" => arguments.first().is_some_and(|key| key.starts_with(key_prefix)),
        b"DEL" => arguments.iter().all(|key| key.starts_with(key_prefix)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_server_that_is_not_ours_only_keys_under_our_prefix_are_touched() {
        let prefix = b"plumb:0123456789abcdef:";
        let own = b"plumb:0123456789abcdef:key:1".as_slice();
        for request in [
            &[b"FLUSHALL".as_slice()][..],
            &[b"flushdb"],
            &[b"CONFIG", b"SET", b"save", b""],
            &[b"SET", b"key:1", b"x"],
            &[b"DEL", own, b"theirs"],
            &[b"SCRIPT", b"FLUSH"],
        ] {
            assert!(!may_be_sent(prefix, request), "{request:?}");
            assert!(may_be_sent(b"", request), "{request:?}");
        }
        for request in [&[b"DEL".as_slice(), own][..], &[b"SET", own, b"x"], &[b"INFO"], &[b"SCAN", b"0"]] {
            assert!(may_be_sent(prefix, request), "{request:?}");
        }
    }
}
