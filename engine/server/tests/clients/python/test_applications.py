"""Do Python's applications of Redis work with their defaults? Run against a running server: test_applications.py HOST PORT

Ends with the line "N passed, 0 failed" and exit code 0, or names what failed and exits with 1. The server's
keys are removed: never point it at one that holds anything.
"""

import asyncio
import sys
import threading
import traceback

import redis

HOST, PORT = sys.argv[1], int(sys.argv[2])
URL = f"redis://{HOST}:{PORT}/0"


def redis_py_pipeline_lock_and_client_info(r):
    with r.pipeline() as pipe:
        assert pipe.set("a", 1).incr("a").execute() == [True, 2]
    with r.pipeline() as pipe:
        pipe.watch("a")
        value = int(pipe.get("a"))
        r.set("a", 100)
        pipe.multi()
        pipe.set("a", value + 1)
        try:
            pipe.execute()
            raise AssertionError("a watched key was changed")
        except redis.WatchError:
            pass
    with r.lock("lock", timeout=10) as lock:
        assert r.lock("lock", blocking=False).acquire() is False
        assert lock.extend(10) and lock.reacquire() and lock.owned()
    info = r.client_info()
    assert info["db"] == 0 and info["user"] == "default", info
    script = r.register_script("return redis.call('GET', KEYS[1])")
    assert script(keys=["a"]) == b"100"


def hiredis_writes_a_long_pipeline_at_once(r):
    import hiredis

    assert hiredis.__version__
    with r.pipeline(transaction=False) as pipe:
        r.set("k", b"x" * 1000)
        for _ in range(50_000):
            pipe.get("k")
        replies = pipe.execute()
    assert len(replies) == 50_000 and set(replies) == {b"x" * 1000}


def configure_django():
    from django.conf import settings

    if not settings.configured:
        backends = {
            "default": "django.core.cache.backends.redis.RedisCache",
            "django-redis": "django_redis.cache.RedisCache",
        }
        caches = {name: {"BACKEND": backend, "LOCATION": URL} for name, backend in backends.items()}
        settings.configure(CACHES=caches, SECRET_KEY="x", SILENCED_SYSTEM_CHECKS=["django_ratelimit.E003"])
        import django

        django.setup()


def django_cache(_):
    configure_django()
    from django.core.cache import cache

    assert cache.set_many({"a": 1, "b": [2], "c": "three"}, timeout=60) == []
    assert cache.get_many(["a", "b", "c", "d"]) == {"a": 1, "b": [2], "c": "three"}
    assert cache.add("a", 5) is False and cache.add("d", 5) is True
    assert cache.incr("a", 41) == 42 and cache.decr("a") == 41
    assert cache.touch("a", 100) is True and cache.touch("nothing") is False
    assert cache.get_or_set("e", lambda: 7) == 7 and cache.has_key("e")
    cache.delete_many(["a", "b"])
    assert cache.get("a") is None
    assert cache.incr_version("c") == 2
    cache.clear()
    assert cache.get("c", version=2) is None


def django_redis(_):
    configure_django()
    from django.core.cache import caches

    cache = caches["django-redis"]
    cache.set("key", {"deep": [1]}, timeout=60, nx=True)
    assert cache.get("key") == {"deep": [1]} and 50 < cache.ttl("key") <= 60
    cache.set_many({"item:1": 1, "item:2": 2})
    assert sorted(cache.iter_keys("item:*")) == ["item:1", "item:2"]
    assert sorted(cache.keys("item:*")) == ["item:1", "item:2"]
    with cache.lock("lock", timeout=10):
        assert not cache.lock("lock", blocking_timeout=0.01).acquire()
    assert cache.delete_pattern("item:*") == 2
    assert cache.persist("key") is True and cache.ttl("key") is None
    assert cache.expire("key", timeout=5) is True


def django_ratelimit(_):
    configure_django()
    from django.test import RequestFactory
    from django_ratelimit.core import is_ratelimited

    request = RequestFactory().get("/")
    limited = [
        is_ratelimited(request, group="g", key="ip", rate="3/h", increment=True) for _ in range(5)
    ]
    assert limited == [False, False, False, True, True], limited


def flask_limiter(_):
    from flask import Flask
    from flask_limiter import Limiter
    from flask_limiter.util import get_remote_address

    for strategy in ["fixed-window", "sliding-window-counter"]:
        app = Flask(__name__)
        limiter = Limiter(get_remote_address, app=app, storage_uri=URL, strategy=strategy)

        @app.route("/")
        @limiter.limit("3 per hour")
        def index():
            return "fine"

        client = app.test_client()
        codes = [client.get("/").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429], (strategy, codes)
        limiter.reset()


def slowapi(_):
    from fastapi import FastAPI, Request
    from fastapi.testclient import TestClient
    from slowapi import Limiter, _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded

    app = FastAPI()
    app.state.limiter = Limiter(key_func=lambda request: "client", storage_uri=URL)
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

    @app.get("/")
    @app.state.limiter.limit("2/hour")
    def index(request: Request):
        return "fine"

    client = TestClient(app)
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]


def dogpile_cache(_):
    from dogpile.cache import make_region

    region = make_region().configure(
        "dogpile.cache.redis",
        expiration_time=60,
        arguments={"host": HOST, "port": PORT, "distributed_lock": True, "thread_local_lock": False},
    )
    calls = []

    @region.cache_on_arguments()
    def load(number):
        calls.append(number)
        return number * 2

    threads = [threading.Thread(target=load, args=(21,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load(21) == 42 and calls == [21], calls
    load.invalidate(21)
    load(21)
    assert calls == [21, 21]
    region.set_multi({"a": 1, "b": 2})
    assert region.get_multi(["a", "b"]) == [1, 2]
    region.delete_multi(["a", "b"])


def fastapi_cache(_):
    from fastapi_cache import FastAPICache
    from fastapi_cache.backends.redis import RedisBackend
    from fastapi_cache.decorator import cache
    from redis import asyncio as aioredis

    async def run():
        client = aioredis.from_url(URL)
        FastAPICache.init(RedisBackend(client), prefix="app")
        calls = []

        @cache(expire=60)
        async def load(number: int):
            calls.append(number)
            return number * 2

        assert [await load(21), await load(21)] == [42, 42] and calls == [21]
        await FastAPICache.clear()
        await client.aclose()
        FastAPICache.reset()

    asyncio.run(run())


def flask_caching(_):
    from flask import Flask
    from flask_caching import Cache

    app = Flask(__name__)
    cache = Cache(app, config={"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": URL})
    calls = []

    @cache.memoize(60)
    def load(number):
        calls.append(number)
        return number * 2

    with app.app_context():
        assert [load(21), load(21)] == [42, 42] and calls == [21]
        cache.delete_memoized(load, 21)
        load(21)
        assert calls == [21, 21]
        assert cache.set_many({"a": 1, "b": 2}) and cache.get_many("a", "b") == [1, 2]
        cache.clear()
        assert cache.get("a") is None


def flask_session(_):
    from flask import Flask, session
    from flask_session import Session

    app = Flask(__name__)
    app.config.update(SESSION_TYPE="redis", SESSION_REDIS=redis.from_url(URL))
    Session(app)

    @app.route("/count")
    def count():
        session["count"] = session.get("count", 0) + 1
        return str(session["count"])

    client = app.test_client()
    assert [client.get("/count").text for _ in range(3)] == ["1", "2", "3"]
    assert app.test_client().get("/count").text == "1"


def aiocache(_):
    from aiocache import Cache
    from aiocache.lock import RedLock

    async def run():
        cache = Cache(Cache.REDIS, endpoint=HOST, port=PORT, namespace="app")
        await cache.set("key", "value", ttl=60)
        assert await cache.get("key") == "value" and await cache.exists("key")
        await cache.multi_set([("a", 1), ("b", 2)], ttl=60)
        assert [int(value) for value in await cache.multi_get(["a", "b"])] == [1, 2]
        assert await cache.increment("n", 5) == 5
        async with RedLock(cache, "lock", lease=5):
            pass
        await cache.clear()
        assert await cache.get("key") is None
        await cache.close()

    asyncio.run(run())


def cashews(_):
    from cashews import Cache

    async def run():
        cache = Cache()
        cache.setup(URL)
        calls = []

        @cache(ttl="1m", key="load:{number}", lock=True)
        async def load(number):
            calls.append(number)
            return number * 2

        assert [await load(21), await load(21)] == [42, 42] and calls == [21]
        await cache.delete_match("load:*")
        await load(21)
        assert calls == [21, 21]
        await cache.incr("n")
        async with cache.lock("lock", expire="10s"):
            pass
        await cache.close()

    asyncio.run(run())


def starsessions(_):
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient
    from starsessions import SessionAutoloadMiddleware, SessionMiddleware
    from starsessions.stores.redis import RedisStore

    def count(request):
        request.session["count"] = request.session.get("count", 0) + 1
        return PlainTextResponse(str(request.session["count"]))

    middleware = [
        Middleware(SessionMiddleware, store=RedisStore(URL), lifetime=60, cookie_https_only=False),
        Middleware(SessionAutoloadMiddleware),
    ]
    with TestClient(Starlette(routes=[Route("/", count)], middleware=middleware)) as client:
        assert [client.get("/").text for _ in range(3)] == ["1", "2", "3"]


TESTS = [
    redis_py_pipeline_lock_and_client_info,
    hiredis_writes_a_long_pipeline_at_once,
    django_cache,
    django_redis,
    django_ratelimit,
    flask_limiter,
    slowapi,
    dogpile_cache,
    fastapi_cache,
    flask_caching,
    flask_session,
    aiocache,
    cashews,
    starsessions,
]


def main():
    client = redis.Redis(host=HOST, port=PORT, socket_timeout=20)
    failed = 0
    for test in TESTS:
        client.flushall()
        try:
            test(client)
            print(f"ok: {test.__name__}")
        except Exception:
            failed += 1
            print(f"FAILED: {test.__name__}")
            traceback.print_exc()
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
