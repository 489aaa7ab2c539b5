use super::*;

#[test]
fn addresses_are_read_and_passwords_are_not_shown() {
    let it = parse("redis://127.0.0.1:7000").unwrap();
    assert_eq!(it.address, Address::tcp("127.0.0.1:7000".parse().unwrap()));
    let it = parse("redis://me:se@cret@127.0.0.1/3").unwrap();
    assert_eq!((it.address.user.as_deref(), it.address.password.as_deref()), (Some("me"), Some("se@cret")));
    assert_eq!((it.address.database, it.address.endpoint.socket().unwrap().port()), (Some(3), 6379));
    assert_eq!(it.shown, "redis://me:…@127.0.0.1/3");
    assert!(matches!(parse("rediss://[::1]:7001").unwrap().address.endpoint, Endpoint::Tls(_)));
    assert!(matches!(parse("unix:///run/r.sock").unwrap().address.endpoint, Endpoint::Unix(_)));
    let it = parse("memcached://127.0.0.1").unwrap();
    assert_eq!((it.address.endpoint.socket().unwrap().port(), it.is_memcached), (11_211, true));
    let it = parse("127.0.0.1:7000").unwrap();
    assert_eq!(
        (it.address.endpoint.socket().unwrap().port(), it.shown.as_str()),
        (7000, "redis://127.0.0.1:7000")
    );
    for wrong in [
        "redis-server",
        "ftp://x",
        "redis://127.0.0.1/x",
        "unix://r",
        "127.0.0.1:x",
        "memcached://me@127.0.0.1/",
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains("redis") || error.contains('/'), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    for wrong in ["redis://u:hunter2@127.0.0.1/x", "u:hunter2@127.0.0.1:7000"] {
        assert!(!parse(wrong).unwrap_err().contains("hunter2"), "{wrong}");
    }
}

#[test]
fn the_address_of_a_page_is_read() {
    for (url, socket, host, path) in [
        ("http://127.0.0.1:8080/a/b?c=d@e#f", "127.0.0.1:8080", "127.0.0.1:8080", "/a/b?c=d@e"),
        ("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"),
        ("http://[::1]?q", "[::1]:80", "[::1]", "/?q"),
        ("https://127.0.0.1/", "127.0.0.1:443", "127.0.0.1", "/"),
    ] {
        let it = parse(url).unwrap();
        assert_eq!(it.address.endpoint.socket(), Some(socket.parse().unwrap()), "{url}");
        assert_eq!(matches!(it.address.endpoint, Endpoint::Tls(_)), url.starts_with("https"), "{url}");
        assert_eq!((it.page, it.shown.as_str()), (Some(Page::new(host, path)), url));
    }
    for (wrong, words) in [
        ("http://me:hunter2@127.0.0.1/", "not sent"),
        ("http:///path", "names no host"),
        ("http://127.0.0.1/a b", "%20"),
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains(words) && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_server_beyond_loopback_is_refused_before_anything_is_sent() {
    // TEST-NET-1, an address that is reserved for documents.
    let error = parse("redis://192.0.2.1:6379").unwrap().admit(Consent::default(), 0).unwrap_err();
    assert!(error.contains("--allow-remote") && error.contains("attack"), "{error}");
}

#[test]
fn a_prefix_is_known_by_its_shape() {
    assert!(is_prefix(&draw_prefix()));
    assert_ne!(draw_prefix(), draw_prefix());
    for other in
        ["plumb:", "plumb:0123456789abcde:", "plumb:0123456789ABCDEF:", "other:0123456789abcdef:", ""]
    {
        assert!(!is_prefix(other), "{other}");
    }
}

#[test]
fn a_cap_without_room_is_refused() {
    assert!(room(1_000, 900, 50).is_ok() && room(0, 900, 1 << 40).is_ok());
    assert!(room(1_000, 900, 200).unwrap_err().contains("would evict its own keys"));
}
