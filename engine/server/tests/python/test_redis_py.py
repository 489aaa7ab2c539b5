"""Is the server a Redis to redis-py? Run against a running server: test_redis_py.py HOST PORT

Ends with the line "N passed, 0 failed" and exit code 0, or names what failed and exits with 1. The server's
keys are removed: never point it at one that holds anything.
"""

import sys
import time
import traceback

import redis


def connect(host, port, **options):
    return redis.Redis(host=host, port=port, socket_timeout=20, **options)


def set_and_get(r):
    assert r.set("plumb", "line") is True
    assert r.get("plumb") == b"line"
    assert r.get("nothing") is None
    assert r["plumb"] == b"line"
    r["item"] = "x"
    assert "item" in r and "nothing" not in r


def bytes_come_back_as_they_were(r):
    value = bytes(range(256)) * 4096
    r.set(b"\x00\xff\r\n", value)
    assert r.get(b"\x00\xff\r\n") == value
    r.set("text", "zwei Wörter – 二")
    assert r.get("text").decode() == "zwei Wörter – 二"
    assert r.strlen("text") == len("zwei Wörter – 二".encode())


def conditions(r):
    assert r.set("a", 1, nx=True) is True
    assert r.set("a", 2, nx=True) is None
    assert r.set("b", 1, xx=True) is None
    assert r.set("a", 2, xx=True) is True
    assert r.set("a", 3, get=True) == b"2"
    assert r.setnx("a", 4) is False
    assert r.getset("a", 5) == b"3"
    assert r.getdel("a") == b"5"
    assert r.exists("a") == 0


def lifetimes(r):
    r.set("short", "x", px=60)
    r.set("long", "x", ex=100)
    assert 90 < r.ttl("long") <= 100
    assert 90_000 < r.pttl("long") <= 100_000
    assert r.ttl("nothing") == -2
    assert r.persist("long") is True and r.ttl("long") == -1
    assert r.expire("long", 50) is True
    assert r.expire("long", 100, lt=True) is False
    assert r.expireat("long", int(time.time()) + 500) is True
    assert r.set("long", "y", keepttl=True) and r.ttl("long") > 400
    assert r.getex("long", ex=10) == b"y" and r.ttl("long") <= 10
    r.execute_command("SETEX", "other", 100, "x")
    assert r.pexpire("other", 1) is True
    time.sleep(0.1)
    assert r.get("short") is None and r.get("other") is None


def counters(r):
    assert r.incr("n") == 1
    assert r.incrby("n", 41) == 42
    assert r.decr("n", 2) == 40
    r.set("word", "x")
    try:
        r.incr("word")
    except redis.ResponseError as error:
        assert str(error) == "value is not an integer or out of range", error
    else:
        raise AssertionError("a word was incremented")


def many_at_once(r):
    assert r.mset({f"k{i}": i for i in range(100)}) is True
    assert r.mget("k1", "nothing", "k99") == [b"1", None, b"99"]
    assert r.delete("k1", "k2", "nothing") == 2
    assert r.unlink("k3") == 1
    assert r.dbsize() == 97


def pipelines(r):
    with r.pipeline(transaction=False) as p:
        for i in range(1000):
            p.set(f"p{i}", i)
            p.get(f"p{i}")
        replies = p.execute()
    assert len(replies) == 2000
    assert replies[0::2] == [True] * 1000
    assert replies[1::2] == [str(i).encode() for i in range(1000)]
    with r.pipeline(transaction=False) as p:
        replies = p.set("word", "x").incr("word").get("word").execute(raise_on_error=False)
    assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == b"x"


def a_pipeline_is_written_whole_before_it_is_read(r):
    value = b"v" * 1000
    r.set("bulk", value)
    gets = r.pipeline(transaction=False)
    for _ in range(200_000):
        gets.get("bulk")
    replies = gets.execute()
    assert len(replies) == 200_000 and all(reply == value for reply in replies)
    sets = r.pipeline(transaction=False)
    for number in range(100_000):
        sets.set(f"bulk:{number % 1000}", number)
    assert all(sets.execute())
    assert r.get("bulk:999") == b"99999"


def transactions(r):
    # The default pipeline is a transaction.
    assert r.pipeline().incr("hz").incr("hz").execute() == [1, 2]
    pipe = r.pipeline()
    pipe.set("a", "word").incr("a").set("b", 1)
    try:
        pipe.execute()
    except redis.ResponseError as error:
        assert "value is not an integer" in str(error), error
    else:
        raise AssertionError("a word was incremented")
    assert r.get("b") == b"1"

    def double(pipe):
        value = int(pipe.get("n") or 1)
        pipe.multi()
        pipe.set("n", value * 2)

    for _ in range(10):
        assert r.transaction(double, "n") == [True]
    assert r.get("n") == b"1024"
    with r.pipeline() as pipe:
        pipe.watch("n")
        r.set("n", 1)
        pipe.multi()
        pipe.incr("n")
        try:
            pipe.execute()
        except redis.WatchError:
            pass
        else:
            raise AssertionError("a transaction ignored the change of a watched key")
    assert r.get("n") == b"1"


def scripts(r):
    add = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert add(keys=["n"], args=[5]) == 5
    # The client sends the text again.
    assert r.script_flush() is True
    assert add(keys=["n"], args=[5]) == 10
    assert r.script_exists(add.sha) == [True]
    pipe = r.pipeline()
    add(keys=["n"], args=[1], client=pipe)
    pipe.get("n")
    assert pipe.execute() == [11, b"11"]
    try:
        r.eval("return redis.call('INCR', KEYS[1])", 1, "n", "x")
        r.eval("return nothing", 0)
    except redis.ResponseError as error:
        assert "nonexistent global variable" in str(error), error
    else:
        raise AssertionError("a script had a variable that is not there")


def locks(r):
    lock = r.lock("lock", timeout=5)
    assert lock.acquire(blocking=False) is True
    assert r.lock("lock").acquire(blocking=False) is False
    assert lock.extend(10) is True and lock.owned()
    assert 5 < r.ttl("lock") <= 15
    lock.release()
    assert r.exists("lock") == 0
    with r.lock("lock", timeout=5):
        assert r.exists("lock") == 1
    try:
        lock.release()
    except redis.exceptions.LockError:
        pass
    else:
        raise AssertionError("a lock was released twice")


def parts_and_copies(r):
    r.set("k", "Hello World")
    assert r.getrange("k", 0, 4) == b"Hello" and r.setrange("k", 6, "Redis") == 11
    assert r.get("k") == b"Hello Redis"
    assert r.msetnx({"a": 1, "k": 2}) in (False, 0) and r.msetnx({"a": 1, "b": 2}) in (True, 1)
    assert r.copy("a", "c") in (True, 1) and r.get("c") == b"1"
    assert r.renamenx("a", "b") in (False, 0) and r.renamenx("a", "d") in (True, 1)
    assert r.touch("b", "d", "nothing") == 2
    assert r.info("commandstats")["cmdstat_copy"]["usec"] >= 0
    assert r.command_getkeys("MSET", "x", 1, "y", 2) in ([b"x", b"y"], ["x", "y"])


def client_lists(r):
    info = r.client_info()
    assert int(info["tot-mem"]) > 0 and info["qbuf-free"] is not None, info
    assert any(client["id"] == str(r.client_id()) for client in r.client_list())


def keyspace(r):
    r.mset({f"scan:{i}": i for i in range(500)})
    r.set("other", 1)
    assert {key for key in r.scan_iter("scan:*", count=37)} == {f"scan:{i}".encode() for i in range(500)}
    assert len(list(r.scan_iter())) == 501
    assert r.keys("othe?") == [b"other"]
    assert r.type("other") == b"string" or r.type("other") == "string"
    assert r.rename("other", "renamed") is True and r.get("renamed") == b"1"
    assert r.append("renamed", "23") == 3
    assert r.flushdb() is True and r.dbsize() == 0


def large_values(r):
    value = b"plumb" * (1 << 20)
    assert r.set("large", value) and r.get("large") == value


def connection(r):
    with r.client() as one:
        assert one.ping() is True
        assert one.echo("hello") == b"hello"
        assert one.client_setname("redis-py") is True
        assert one.client_getname() in ("redis-py", b"redis-py")
        assert isinstance(one.client_id(), int)
        assert any(client["name"] == "redis-py" for client in one.client_list())
    seconds, microseconds = r.time()
    assert abs(seconds - time.time()) < 5 and 0 <= microseconds < 1_000_000


def administration(r):
    info = r.info()
    assert info["used_memory"] > 0 and info["maxmemory"] > 0 and info["connected_clients"] >= 1
    assert r.info("memory")["maxmemory_policy"] == info["maxmemory_policy"]
    policy = r.config_get("maxmemory-policy")["maxmemory-policy"]
    assert policy == info["maxmemory_policy"]
    assert r.config_set("maxmemory-policy", "noeviction") is True
    assert r.config_get("maxmemory-*")["maxmemory-policy"] == "noeviction"
    assert r.config_set("maxmemory-policy", policy) is True
    assert r.command_count() >= 45
    r.set("a", "x")
    assert 0 < r.memory_usage("a") < 1000 and r.memory_usage("nothing") is None


def users(r):
    options = r.connection_pool.connection_kwargs
    assert r.acl_setuser("app", reset=True, enabled=True, passwords=["+secret"], keys=["app:*"], categories=["+@read"])
    user = r.acl_getuser("app")
    assert user["enabled"] is True and user["keys"] == ["~app:*"] and user["categories"] == ["-@all", "+@read"], user
    assert sorted(r.acl_users()) in (["app", "default"], [b"app", b"default"])
    r.acl_log_reset()
    with connect(options["host"], options["port"], username="app", password="secret") as app:
        assert app.get("app:1") is None
        for denied in (lambda: app.get("other"), lambda: app.set("app:1", "x")):
            try:
                denied()
            except redis.exceptions.NoPermissionError:
                pass
            else:
                raise AssertionError("a denied command was executed")
        assert {entry["object"] for entry in r.acl_log()} >= {"other", "set"}, r.acl_log()
        assert r.acl_deluser("app") == 1
        try:
            app.get("app:1")
        except redis.RedisError:
            pass
        else:
            raise AssertionError("a deleted user was served")


def errors(r):
    try:
        r.execute_command("NOSUCH", "a")
    except redis.ResponseError as error:
        assert str(error).startswith("unknown command 'NOSUCH', with args beginning with: 'a'"), error
    else:
        raise AssertionError("an unknown command was executed")
    assert r.ping() is True


def text_replies(host, port, protocol):
    r = connect(host, port, protocol=protocol, decode_responses=True)
    r.set("plumb", "line")
    assert r.get("plumb") == "line" and r.mget("plumb", "nothing") == ["line", None]
    r.close()


TESTS = [
    set_and_get,
    bytes_come_back_as_they_were,
    conditions,
    lifetimes,
    counters,
    many_at_once,
    pipelines,
    a_pipeline_is_written_whole_before_it_is_read,
    transactions,
    scripts,
    locks,
    parts_and_copies,
    client_lists,
    keyspace,
    large_values,
    connection,
    administration,
    users,
    errors,
]


def main(arguments):
    if len(arguments) != 2 or not arguments[1].isdigit():
        print("usage: test_redis_py.py HOST PORT", file=sys.stderr)
        return 64
    host, port = arguments[0], int(arguments[1])
    passed, failed = 0, 0
    for protocol in (2, 3):
        r = connect(host, port, protocol=protocol)
        cases = [(test.__name__, lambda test=test: test(r)) for test in TESTS]
        cases.append(("text_replies", lambda: text_replies(host, port, protocol)))
        for name, run in cases:
            try:
                r.flushall()
                run()
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED {name} (RESP{protocol})\n{traceback.format_exc()}", file=sys.stderr)
        r.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
