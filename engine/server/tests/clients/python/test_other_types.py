"""At which command do Python's applications stop that need more than strings? Run against a running server:
test_other_types.py HOST PORT

Each application is used as its documents show, and has to fail at the command that docs/clients.md names. Ends with the
line "N stopped where documented, 0 differ" and exit code 0, or names what differs and exits with 1. With --any it says
where each stops, or that it works, and always exits with 0. The server's keys are removed: never point it at one that
holds anything.
"""

import asyncio
import logging
import re
import sys

import redis

HOST, PORT = sys.argv[1], int(sys.argv[2])
URL = f"redis://{HOST}:{PORT}/0"


def work(text):
    """What the queues are asked to do."""
    print(text)


def rq():
    import rq as package

    package.Queue(connection=redis.Redis.from_url(URL)).enqueue("builtins.print", "x")


def celery():
    from celery import Celery

    app = Celery("app", broker=URL, broker_connection_retry=False, broker_transport_options={"max_retries": 0})
    app.task(name="work")(work).apply_async(("x",), retry=False)


def huey():
    from huey import RedisHuey

    queue = RedisHuey("app", url=URL)
    queue.task()(lambda: 1)()


def dramatiq():
    import dramatiq as package
    from dramatiq.brokers.redis import RedisBroker

    package.set_broker(RedisBroker(url=URL))
    package.actor(print, actor_name="work").send("x")


def channels_redis():
    from channels_redis.core import RedisChannelLayer

    asyncio.run(RedisChannelLayer(hosts=[URL]).send("channel", {"type": "x"}))


def taskiq_redis():
    from taskiq_redis import ListQueueBroker

    async def run():
        broker = ListQueueBroker(URL)
        task = broker.task(task_name="work")(work)
        await broker.startup()
        await task.kiq("x")

    asyncio.run(run())


def limits_moving_window():
    from limits import RateLimitItemPerHour
    from limits.storage import RedisStorage
    from limits.strategies import MovingWindowRateLimiter

    MovingWindowRateLimiter(RedisStorage(URL)).hit(RateLimitItemPerHour(3), "x")


def pottery():
    from pottery import RedisDict

    RedisDict({"a": 1}, redis=redis.Redis.from_url(URL), key="d")


def django_q():
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(INSTALLED_APPS=["django_q"], SECRET_KEY="x", Q_CLUSTER={"redis": URL, "name": "q"})
        django.setup()
    from django_q.tasks import async_task

    async_task("builtins.print", "x")


# A command that a script calls; the error does not name it.
SCRIPT = "a script"

# The application, and the command at which it stops.
TESTS = {
    rq: "SADD",
    celery: "LLEN",
    huey: "LPUSH",
    dramatiq: SCRIPT,
    channels_redis: "ZREMRANGEBYSCORE",
    taskiq_redis: "LPUSH",
    limits_moving_window: SCRIPT,
    pottery: "HSET",
    django_q: "RPUSH",
}


class Lines(logging.Handler):
    """Keeps what applications log where they do not raise."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())
        if record.exc_info:
            self.lines.append(str(record.exc_info[1]))


def stop_of(test, lines):
    """The command that the server did not know, "" where the application worked, or what else it failed with."""
    lines.lines.clear()
    said = []
    try:
        test()
    except Exception as error:  # noqa: BLE001 - whatever an application raises
        while error is not None:
            said.append(f"{type(error).__name__}: {error}")
            error = error.__cause__ or error.__context__
    text = "\n".join(said + lines.lines)
    found = re.search(r"unknown command '?`?([A-Za-z]+)", text, re.IGNORECASE)
    if found:
        return found.group(1).upper()
    if "Unknown Redis command called from script" in text:
        return SCRIPT
    return text[:300]


def main():
    lines = Lines()
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    client = redis.Redis(host=HOST, port=PORT, socket_timeout=20)
    differ = 0
    for test, expected in TESTS.items():
        client.flushall()
        found = stop_of(test, lines)
        if "--any" in sys.argv:
            print(f"{test.__name__}: {found or 'works'}")
        elif found == expected:
            print(f"ok: {test.__name__} stops at {expected}")
        else:
            differ += 1
            print(f"DIFFERS: {test.__name__} stops at {found or 'nothing'}, documented is {expected}")
    if "--any" not in sys.argv:
        print(f"{len(TESTS) - differ} stopped where documented, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
