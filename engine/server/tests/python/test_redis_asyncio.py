"""Is the server a Redis to redis-py's asyncio client? Run against a running server: test_redis_asyncio.py HOST PORT

Ends with the line "N passed, 0 failed" and exit code 0, or names what failed and exits with 1. The server's
keys are removed: never point it at one that holds anything.
"""

import asyncio
import sys
import time
import traceback

import redis
import redis.asyncio


async def set_and_get(r):
    assert await r.set("plumb", "line") is True
    assert await r.get("plumb") == b"line"
    assert await r.get("nothing") is None
    assert await r.exists("plumb", "nothing", "plumb") == 2
    assert await r.getdel("plumb") == b"line" and await r.exists("plumb") == 0


async def many_tasks_on_one_pool(r):
    async def one(number):
        key = f"task:{number}"
        await r.set(key, number)
        for _ in range(10):
            await r.incr(key)
        return int(await r.get(key)) - number

    assert await asyncio.gather(*(one(number) for number in range(200))) == [10] * 200
    assert await r.dbsize() == 200


async def counters_lose_nothing(r):
    await asyncio.gather(*(r.incrby("n", number) for number in range(500)))
    assert await r.get("n") == str(sum(range(500))).encode()


async def pipelines(r):
    async with r.pipeline(transaction=False) as p:
        for i in range(1000):
            p.set(f"p{i}", i)
            p.get(f"p{i}")
        replies = await p.execute()
    assert replies[0::2] == [True] * 1000
    assert replies[1::2] == [str(i).encode() for i in range(1000)]
    async with r.pipeline(transaction=False) as p:
        p.set("word", "x")
        p.incr("word")
        p.get("word")
        replies = await p.execute(raise_on_error=False)
    assert replies[0] is True and isinstance(replies[1], redis.ResponseError) and replies[2] == b"x"


async def lifetimes(r):
    await r.set("short", "x", px=60)
    await r.set("long", "x", ex=100)
    assert 90 < await r.ttl("long") <= 100
    assert await r.expire("long", 50) is True and await r.persist("long") is True
    assert await r.ttl("long") == -1 and await r.ttl("nothing") == -2
    await asyncio.sleep(0.1)
    assert await r.get("short") is None


async def keyspace(r):
    await r.mset({f"scan:{i}": i for i in range(500)})
    found = [key async for key in r.scan_iter("scan:*", count=37)]
    assert set(found) == {f"scan:{i}".encode() for i in range(500)}
    assert await r.mget("scan:1", "nothing") == [b"1", None]
    assert await r.delete("scan:1", "scan:2") == 2
    assert await r.flushdb() is True and await r.dbsize() == 0


async def large_values(r):
    value = b"plumb" * (1 << 20)
    assert await r.set("large", value)
    assert all(copy == value for copy in await asyncio.gather(*(r.get("large") for _ in range(8))))


async def a_reader_that_gives_up_disturbs_nobody(r):
    await r.set("large", b"x" * (8 << 20))
    task = asyncio.create_task(r.get("large"))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    assert await r.strlen("large") == 8 << 20 and await r.ping() is True


async def administration(r):
    await r.set("a", "x" * 1000)
    info = await r.info()
    for field in ["used_memory", "used_memory_peak", "used_memory_dataset", "maxmemory", "total_system_memory"]:
        assert info[field] > 0, field
    assert info["connected_clients"] >= 1
    statistics = await r.info("commandstats")
    assert statistics["cmdstat_info"]["calls"] >= 1
    assert await r.config_resetstat() is True
    assert (await r.info("stats"))["keyspace_hits"] == 0
    seconds, _ = await r.time()
    assert abs(seconds - time.time()) < 5
    assert any(client["name"] == "compat" for client in await r.client_list())


async def errors(r):
    for command, text in [
        (("NOSUCH", "a"), "unknown command 'NOSUCH', with args beginning with: 'a'"),
        (("GET",), "wrong number of arguments for 'get' command"),
        (("SET", "a", "b", "EX", "0"), "invalid expire time in 'set' command"),
    ]:
        try:
            await r.execute_command(*command)
        except redis.ResponseError as error:
            assert str(error).startswith(text), error
        else:
            raise AssertionError(f"{command} was executed")
    assert await r.ping() is True


TESTS = [
    set_and_get,
    many_tasks_on_one_pool,
    counters_lose_nothing,
    pipelines,
    lifetimes,
    keyspace,
    large_values,
    a_reader_that_gives_up_disturbs_nobody,
    administration,
    errors,
]


async def run(host, port):
    passed, failed = 0, 0
    for protocol in (2, 3):
        pool = redis.asyncio.BlockingConnectionPool(
            host=host, port=port, protocol=protocol, max_connections=50, timeout=20, socket_timeout=20, client_name="compat"
        )
        r = redis.asyncio.Redis(connection_pool=pool)
        for test in TESTS:
            try:
                await r.flushall()
                await test(r)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED {test.__name__} (RESP{protocol})\n{traceback.format_exc()}", file=sys.stderr)
        await r.aclose()
        await pool.disconnect()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main(arguments):
    if len(arguments) != 2 or not arguments[1].isdigit():
        print("usage: test_redis_asyncio.py HOST PORT", file=sys.stderr)
        return 64
    return asyncio.run(run(arguments[0], int(arguments[1])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
