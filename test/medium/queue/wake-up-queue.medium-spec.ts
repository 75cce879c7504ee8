import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { systemClock } from '../../../src/core/time/clock';
import type { WakeUp } from '../../../src/core/queue/wake-up';
import { WakeUpQueue } from '../../../src/core/queue/wake-up-queue';
import { createRedis } from '../../../src/core/redis/redis.module';
import { RedisProcess } from '../../faults/redis-process';
import { allowedMs, until } from '../../faults/figures';

// Redis is away on purpose.
Logger.overrideLogger(false);

/** Redis for its own tests: it is killed here. */
let server: RedisProcess;
const opened: { queue: WakeUpQueue; redis: Redis }[] = [];

beforeAll(async () => {
  server = await RedisProcess.start();
});
afterEach(async () => {
  await Promise.all(
    opened.splice(0).map(async ({ queue, redis }) => {
      await queue.onApplicationShutdown();
      redis.disconnect();
    }),
  );
});
afterAll(() => server.stop());

/** What one process has. Deployments differ in the name of their database. */
async function open(database = randomUUID(), databaseFailures = 0): Promise<WakeUpQueue> {
  const redis = createRedis(server.url).on('error', () => undefined);
  let failures = databaseFailures;
  const query = () =>
    failures-- > 0 ? Promise.reject(new Error('the database is away')) : Promise.resolve([{ name: database }]);
  const dataSource = { query } as Partial<DataSource> as DataSource;
  const queue = new WakeUpQueue(redis, dataSource, systemClock);
  opened.push({ queue, redis });
  await queue.open();
  return queue;
}

const wakeUp = (version = 0): WakeUp => ({ id: randomUUID(), version, lane: 'a lane' });

/** Woken for what, and the means to say no. */
function listen(queue: WakeUpQueue, answer: (seen: WakeUp, count: number) => number | null = () => null) {
  const seen: WakeUp[] = [];
  queue.consume((each) => Promise.resolve(answer(each, seen.push(each))), 4);
  return seen;
}
const arrive = (seen: readonly WakeUp[], count: number, withinMs = 10_000) =>
  until(`${count} wake-ups`, withinMs, () => seen.length >= count);

describe('a wake-up', () => {
  it('reaches one of the processes, once', async () => {
    const database = randomUUID();
    const [sender, one, two] = await Promise.all([open(database), open(database), open(database)]);
    const seen = [listen(one), listen(two)];
    const sent = Array.from({ length: 20 }, () => wakeUp());
    await Promise.all(sent.map((each) => sender.send(each)));
    await until('all of them', 10_000, () => seen.flat().length >= sent.length);
    const byId = (left: WakeUp, right: WakeUp) => left.id.localeCompare(right.id);
    expect(seen.flat().toSorted(byId)).toEqual(sent.toSorted(byId));
  });

  it('comes later when it is to, and the next one of the same row is another one', async () => {
    const queue = await open();
    const seen = listen(queue);
    const first = wakeUp();
    const sentAtMs = performance.now();
    await queue.send(first, 3_000);
    await queue.send(first, 3_000);
    await queue.send({ ...first, version: 1 });
    await arrive(seen, 2);
    expect(performance.now() - sentAtMs).toBeGreaterThan(2_900);
    expect(seen.map(({ version }) => version)).toEqual([1, 0]);
    // It is not kept anywhere: the same one may be sent again.
    await queue.send(first);
    await arrive(seen, 3);
  });

  it('comes again to who had no place for it', async () => {
    const queue = await open();
    const seen = listen(queue, (_each, count) => (count === 1 ? 50 : null));
    const sent = wakeUp();
    await queue.send(sent);
    await arrive(seen, 2);
    expect(seen).toEqual([sent, sent]);
  });

  it('does not reach another deployment on the same Redis', async () => {
    const [ours, theirs] = await Promise.all([open(), open()]);
    const [seen, unseen] = await Promise.all([listen(ours), listen(theirs)]);
    const sent = Array.from({ length: 20 }, () => wakeUp());
    await Promise.all(sent.map((each) => ours.send(each)));
    await arrive(seen, sent.length);
    expect(unseen).toEqual([]);
  });

  it('is forgotten with Redis, which keeps nobody waiting, and the next one arrives when Redis is back', async () => {
    const queue = await open();
    const seen = listen(queue);
    await queue.send(wakeUp());
    await arrive(seen, 1);

    server.suspend();
    const sentAtMs = performance.now();
    await queue.send(wakeUp());
    expect(performance.now() - sentAtMs).toBeLessThan(allowedMs(250));
    server.resume();
    await server.stop();
    await until('the loss', 5_000, () => !queue.isReachable);
    await queue.send(wakeUp());

    await server.restart();
    await until('the connection', 5_000, () => queue.isReachable);
    const before = seen.length;
    await until('a wake-up', 20_000, async () => {
      await queue.send(wakeUp());
      return seen.length > before;
    });
  });

  it('reaches a process whose database was away when it began', async () => {
    const database = randomUUID();
    const [sender, receiver] = await Promise.all([open(database), open(database, 2)]);
    const seen = listen(receiver);
    await sender.send(wakeUp());
    await arrive(seen, 1, 60_000);
  });

  it('is waited for by nobody who stops, even if the database has never answered', async () => {
    const redis = createRedis(server.url).on('error', () => undefined);
    const asked = Promise.withResolvers<void>();
    const query = () => (asked.resolve(), new Promise<never>(() => undefined));
    const silent = { query } as Partial<DataSource> as DataSource;
    const queue = new WakeUpQueue(redis, silent, systemClock);
    queue.consume(() => Promise.resolve(null), 1);
    await asked.promise;
    await queue.onApplicationShutdown();
    redis.disconnect();
  });

  it('can be sent from a process that began without Redis', async () => {
    await server.stop();
    const starting = open();
    await server.restart();
    const queue = await starting;
    const seen = listen(queue);
    await until('a wake-up', 20_000, async () => {
      await queue.send(wakeUp());
      return seen.length > 0;
    });
  });

  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['hangs', () => server.suspend(), () => server.resume()],
    ['is gone', () => server.stop(), () => server.restart()],
  ])('does not keep a process from ending when Redis %s', async (_what, take, giveBack) => {
    const queue = await open();
    const seen = listen(queue);
    await queue.send(wakeUp());
    await arrive(seen, 1);
    await take();
    const startedAtMs = performance.now();
    await queue.onApplicationShutdown();
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(2_000));
    await giveBack();
  });
});
