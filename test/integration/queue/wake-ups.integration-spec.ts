import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { createRedis } from '../../../src/core/redis/redis-client';
import { RedisProcess } from '../../faults/redis-process';
import { allowedMs, until } from '../../faults/figures';
import {
  type Answer,
  arrive,
  closeProcesses,
  connected,
  done,
  openProcess,
  type Process,
  row,
  untilOneArrives,
} from './wake-up-process';

// Redis is unavailable on purpose.
Logger.overrideLogger(false);

/** Redis for its own tests: it is killed here. */
let server: RedisProcess;

beforeAll(async () => {
  server = await RedisProcess.start();
});
afterEach(closeProcesses);
afterAll(() => server.stop());

const open = (database: string, answer?: Answer, databaseFailures = 0): Promise<Process> =>
  openProcess(createRedis(server.url), database, answer, databaseFailures);

describe('a wake-up', () => {
  it('reaches one of the processes, once', async () => {
    const database = randomUUID();
    const [sender, ...receivers] = await Promise.all([open(database), open(database, done), open(database, done)]);
    await connected(sender);
    const sent = Array.from({ length: 20 }, () => randomUUID());
    await Promise.all(sent.map((id) => sender.queue.wake(row(id))));
    const seen = () => receivers.flatMap((receiver) => receiver.seen);
    await until('all of them', 10_000, () => seen().length >= sent.length);
    expect(seen().toSorted()).toEqual(sent.toSorted());
  });

  it('arrives after its delay, and the latest one of a row replaces an earlier one', async () => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    const [late, replaced] = [randomUUID(), randomUUID()];
    const sentAtMs = performance.now();
    await receiver.queue.wake(row(late), 2_000);
    await receiver.queue.wake(row(replaced), 3_600_000);
    await receiver.queue.wake(row(replaced));
    await arrive(receiver, 2);
    // A stalled machine may send the third one only after the first was due.
    expect(receiver.seen.toSorted()).toEqual([replaced, late].toSorted());
    expect(performance.now() - sentAtMs).toBeGreaterThan(1_900);
    // It leaves nothing behind that would suppress the next one.
    await receiver.queue.wake(row(late));
    await arrive(receiver, 3);
  });

  it('arrives again when the processor returns a delay', async () => {
    const receiver = await open(randomUUID(), (_id, count) => (count === 1 ? 50 : null));
    await connected(receiver);
    const id = randomUUID();
    await receiver.queue.wake(row(id));
    await arrive(receiver, 2);
    expect(receiver.seen).toEqual([id, id]);
  });

  it('does not reach another deployment on the same Redis', async () => {
    const [ours, theirs] = await Promise.all([open(randomUUID(), done), open(randomUUID(), done)]);
    await connected(ours);
    await Promise.all(Array.from({ length: 20 }, () => ours.queue.wake(row())));
    await arrive(ours, 20);
    expect(theirs.seen).toEqual([]);
  });

  it('is lost during a Redis outage without delaying its sender, and the next one arrives after the outage', async () => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    await receiver.queue.wake(row());
    await arrive(receiver, 1);

    server.suspend();
    const sentAtMs = performance.now();
    await receiver.queue.wake(row());
    expect(performance.now() - sentAtMs).toBeLessThan(allowedMs(500));
    server.resume();
    await server.stop();
    await until('the loss', 5_000, () => !receiver.queue.isReachable);
    await receiver.queue.wake(row());

    await server.restart();
    await untilOneArrives(receiver);
  });

  it('arrives after each of several losses of Redis in a row', async () => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    for (let loss = 1; loss <= 3; loss++) {
      await server.stop();
      await until('the loss', 5_000, () => !receiver.queue.isReachable);
      await server.restart();
      await untilOneArrives(receiver);
    }
  });

  it('leaves no event log behind that listeners would read, also in a Redis that has lost its data', async () => {
    const receiver = await open(randomUUID(), done);
    const eventsAfter = async (wakeUps: number): Promise<number> => {
      const before = receiver.seen.length;
      await Promise.all(Array.from({ length: wakeUps }, () => receiver.queue.wake(row())));
      await arrive(receiver, before + wakeUps);
      const redis = new Redis(server.url);
      try {
        return Math.max(...(await Promise.all((await redis.keys('*:events')).map((key) => redis.xlen(key)))));
      } finally {
        redis.disconnect();
      }
    };
    await connected(receiver);
    // Redis may keep the rest of a block of a hundred. Every wake-up makes three events.
    expect(await eventsAfter(100)).toBeLessThanOrEqual(110);
    await server.stop();
    await server.restart();
    await untilOneArrives(receiver);
    expect(await eventsAfter(100)).toBeLessThanOrEqual(110);
  });

  it('reaches a process whose database was unavailable when it started', async () => {
    const database = randomUUID();
    const [sender, receiver] = await Promise.all([open(database), open(database, done, 2)]);
    await connected(sender);
    await sender.queue.wake(row());
    await arrive(receiver, 1, 60_000);
  });

  it('reaches a process that started without Redis', async () => {
    await server.stop();
    const receiver = await open(randomUUID(), done);
    await server.restart();
    await untilOneArrives(receiver);
  });

  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['hangs', () => server.suspend(), () => server.resume()],
    ['is gone', () => server.stop(), () => server.restart()],
  ])('does not keep a process from ending when Redis %s', async (_what, take, giveBack) => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    await receiver.queue.wake(row());
    await arrive(receiver, 1);
    await take();
    try {
      const startedAtMs = performance.now();
      await receiver.app.close();
      expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(2_000));
    } finally {
      await giveBack();
    }
  });

  it('does not keep a process from ending that never reached Redis', async () => {
    await server.stop();
    try {
      const receiver = await open(randomUUID(), done);
      const startedAtMs = performance.now();
      await receiver.app.close();
      expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(2_000));
    } finally {
      await server.restart();
    }
  });
});
