//! Is the server a Redis to a client library of the Rust world?

use redis::{Commands, SetExpiry, SetOptions};

use crate::server::Server;

#[test]
fn transactions_and_scripts_of_the_redis_crate_work() {
    let server = Server::start(&[]);
    for protocol in ["", "?protocol=resp3"] {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/{protocol}", server.port)).unwrap();
        let (mut c, mut other) = (client.get_connection().unwrap(), client.get_connection().unwrap());
        let _: () = redis::cmd("FLUSHALL").query(&mut c).unwrap();
        let (sum,): (i64,) = redis::pipe().atomic().set("a", 1).ignore().incr("a", 41).query(&mut c).unwrap();
        assert_eq!(sum, 42);
        // The first attempt fails, because the other connection writes the watched key meanwhile.
        let mut attempts = 0;
        let (found,): (i64,) = redis::transaction(&mut c, &["a"], |c, pipe| {
            let value: i64 = c.get("a")?;
            if attempts == 0 {
                let _: () = other.set("a", 100)?;
            }
            attempts += 1;
            pipe.set("a", value + 1).ignore().get("a").query(c)
        })
        .unwrap();
        assert_eq!((found, attempts), (101, 2));
        let mut script = redis::cmd("EVAL");
        let script = script.arg("return redis.call('INCRBY', KEYS[1], ARGV[1])").arg(1).arg("a").arg(5);
        assert_eq!(script.query::<i64>(&mut c).unwrap(), 106);
    }
}

#[test]
fn the_redis_crate_works_unchanged() {
    let server = Server::start(&[]);
    for protocol in ["", "?protocol=resp3"] {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/{protocol}", server.port)).unwrap();
        let mut c = client.get_connection().unwrap();
        let _: () = redis::cmd("FLUSHALL").query(&mut c).unwrap();
        let _: () = c.set("plumb", "line").unwrap();
        assert_eq!(c.get::<_, String>("plumb").unwrap(), "line");
        assert_eq!(c.get::<_, Option<String>>("nothing").unwrap(), None);
        assert_eq!(c.incr::<_, _, i64>("count", 5).unwrap(), 5);
        let options = SetOptions::default()
            .conditional_set(redis::ExistenceCheck::NX)
            .with_expiration(SetExpiry::EX(60));
        assert_eq!(c.set_options::<_, _, Option<String>>("plumb", "x", options.clone()).unwrap(), None);
        assert_eq!(
            c.set_options::<_, _, Option<String>>("fresh", "x", options).unwrap().as_deref(),
            Some("OK")
        );
        assert!(c.ttl::<_, i64>("fresh").unwrap() > 50);
        let (a, b): (i64, Vec<Option<String>>) =
            redis::pipe().incr("count", 1).mget(&["plumb", "nothing"]).query(&mut c).unwrap();
        assert_eq!((a, b), (6, vec![Some("line".to_owned()), None]));
        let mut keys: Vec<String> = c.scan_match("*").unwrap().map(Result::unwrap).collect();
        keys.sort();
        assert_eq!(keys, ["count", "fresh", "plumb"]);
        let error = redis::cmd("INCR").arg("plumb").query::<i64>(&mut c).unwrap_err();
        assert!(error.to_string().contains("value is not an integer or out of range"), "{error}");
        let bytes: Vec<u8> = (0..=255).collect();
        let _: () = c.set("bytes", &bytes).unwrap();
        assert_eq!(c.get::<_, Vec<u8>>("bytes").unwrap(), bytes);
    }
}
