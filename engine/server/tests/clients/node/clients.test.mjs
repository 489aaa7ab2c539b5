// Do Node's Redis clients, and libraries that use them, work with their defaults? The server's keys are removed.
//
//   PLUMBKV_ADDRESS=127.0.0.1:6379 node --test clients.test.mjs
import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import { after, beforeEach, test } from 'node:test';

import KeyvRedis from '@keyv/redis';
import { createCache } from 'cache-manager';
import { RedisStore as SessionStore } from 'connect-redis';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';
import { RedisStore as RateLimitStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { createClient } from 'redis';
import Redlock from 'redlock';

const [host, port] = (process.env.PLUMBKV_ADDRESS ?? '127.0.0.1:6379').split(':');
const url = `redis://${host}:${port}`;
const io = new Redis(Number(port), host);
const client = await createClient({ url }).connect();

beforeEach(() => io.flushall());
after(async () => {
  io.disconnect();
  await client.close();
});

test('ioredis: values, lifetimes and pipelines', async () => {
  assert.equal(await io.set('key', 'value', 'EX', 60), 'OK');
  assert.equal(await io.get('key'), 'value');
  assert.ok((await io.ttl('key')) > 50);
  const replies = await io.pipeline().incr('n').incr('n').get('nothing').exec();
  assert.deepEqual(replies, [[null, 1], [null, 2], [null, null]]);
});

test('ioredis: multi', async () => {
  const replies = await io.multi().set('a', 1).incrby('a', 41).exec();
  assert.deepEqual(replies, [[null, 'OK'], [null, 42]]);
  await io.watch('a');
  await client.set('a', '0');
  assert.equal(await io.multi().incr('a').exec(), null);
});

test('ioredis: defineCommand', async () => {
  io.defineCommand('setAndGet', {
    numberOfKeys: 1,
    lua: 'redis.call("SET", KEYS[1], ARGV[1]) return redis.call("GET", KEYS[1])',
  });
  assert.equal(await io.setAndGet('key', 'one'), 'one');
  assert.equal(await io.setAndGet('key', 'two'), 'two');
  assert.deepEqual(await io.pipeline().setAndGet('key', 'three').get('key').exec(), [[null, 'three'], [null, 'three']]);
});

test('ioredis: scanStream', async () => {
  await io.mset(Object.fromEntries(Array.from({ length: 300 }, (_, number) => [`key:${number}`, 'x'])));
  const seen = new Set();
  for await (const keys of io.scanStream({ match: 'key:*', count: 50 })) keys.forEach((key) => seen.add(key));
  assert.equal(seen.size, 300);
});

test('node-redis: multi, watch and scripts', async () => {
  assert.deepEqual(await client.multi().set('a', '1').incrBy('a', 41).exec(), ['OK', 42]);
  assert.equal(await client.eval('return ARGV[1] .. KEYS[1]', { keys: ['k'], arguments: ['v'] }), 'vk');
  const sha = await client.scriptLoad('return 7');
  assert.equal(await client.evalSha(sha), 7);
  const seen = [];
  for await (const keys of client.scanIterator()) seen.push(...keys);
  assert.deepEqual(seen, ['a']);
});

test('keyv', async () => {
  const keyv = new Keyv(new KeyvRedis(url), { namespace: 'app' });
  await keyv.set('key', { deep: [1, 2] }, 60_000);
  assert.deepEqual(await keyv.get('key'), { deep: [1, 2] });
  assert.equal(await keyv.has('key'), true);
  assert.equal(await keyv.delete('key'), true);
  await keyv.set('a', 1);
  await keyv.clear();
  assert.equal(await keyv.get('a'), undefined);
  await keyv.disconnect();
});

test('cache-manager', async () => {
  const cache = createCache({ stores: [new Keyv(new KeyvRedis(url))] });
  let calls = 0;
  const load = () => cache.wrap('key', () => ++calls, 60_000);
  assert.deepEqual([await load(), await load()], [1, 1]);
  await cache.mset([{ key: 'a', value: 1 }, { key: 'b', value: 2 }]);
  assert.deepEqual(await cache.mget(['a', 'b', 'c']), [1, 2, undefined]);
  await cache.clear();
  assert.equal(await cache.get('a'), undefined);
  await cache.disconnect();
});

test('express-rate-limit with rate-limit-redis', async () => {
  const limiter = rateLimit({
    windowMs: 60_000,
    limit: 3,
    legacyHeaders: false,
    validate: false,
    keyGenerator: () => 'client',
    store: new RateLimitStore({ sendCommand: (...words) => client.sendCommand(words) }),
  });
  const ask = () =>
    new Promise((resolve, reject) => {
      const response = {
        statusCode: 200,
        headersSent: false,
        setHeader() {},
        on() {},
        status(code) {
          this.statusCode = code;
          return this;
        },
        send() {
          resolve(this.statusCode);
        },
      };
      const request = { ip: '127.0.0.1', headers: {}, app: { get: () => false }, method: 'GET', path: '/' };
      limiter(request, response, (error) => (error ? reject(error) : resolve(200)));
    });
  const codes = [];
  for (let number = 0; number < 5; number++) codes.push(await ask());
  assert.deepEqual(codes, [200, 200, 200, 429, 429]);
});

test('rate-limiter-flexible', async () => {
  const limiter = new RateLimiterRedis({ storeClient: io, points: 3, duration: 60 });
  let refused = 0;
  for (let number = 0; number < 5; number++) await limiter.consume('client').catch(() => refused++);
  assert.equal(refused, 2);
  assert.equal((await limiter.get('client')).consumedPoints, 5);
  assert.equal(await limiter.delete('client'), true);
});

test('redlock', async () => {
  const redlock = new Redlock([io], { retryCount: 0 });
  const lock = await redlock.lock('resource', 10_000);
  await assert.rejects(redlock.lock('resource', 10_000));
  const extended = await lock.extend(20_000);
  await extended.unlock();
  const again = await redlock.lock('resource', 10_000);
  await again.unlock();
});

test('express-session with connect-redis', async () => {
  const store = new SessionStore({ client, prefix: 'session:' });
  assert.ok(store instanceof session.Store);
  const call = (name, ...words) => promisify(store[name].bind(store))(...words);
  const data = { cookie: { maxAge: 60_000, expires: new Date(Date.now() + 60_000) }, user: 'alice' };
  await call('set', 'one', data);
  assert.equal((await call('get', 'one')).user, 'alice');
  await call('touch', 'one', data);
  assert.equal(await call('length'), 1);
  assert.deepEqual(await call('ids'), ['one']);
  await call('destroy', 'one');
  assert.ok((await call('get', 'one')) == null);
});
