import { randomUUID } from 'node:crypto';
import { BullModule, getQueueToken, Processor } from '@nestjs/bullmq';
import { Global, type INestApplicationContext, Logger, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import { DataSource } from 'typeorm';
import { CLOCK, systemClock } from '../../../src/core/time/clock';
import { QueueConnection } from '../../../src/core/queue/queue-connection';
import { QueueModule } from '../../../src/core/queue/queue.module';
import { WAKE_UP_WORKER_OPTIONS, WakeUpProcessor } from '../../../src/core/queue/wake-up-processor';
import { WakeUpQueue } from '../../../src/core/queue/wake-up-queue';
import { createRedis, REDIS } from '../../../src/core/redis/redis.module';
import { RedisProcess } from '../../faults/redis-process';
import { allowedMs, until } from '../../faults/figures';

// Redis is away on purpose.
Logger.overrideLogger(false);

const QUEUE = 'test-rows';

/** Redis for its own tests: it is killed here. */
let server: RedisProcess;
const opened: INestApplicationContext[] = [];

beforeAll(async () => {
  server = await RedisProcess.start();
});
afterEach(() => Promise.all(opened.splice(0).map((app) => app.close())));
afterAll(() => server.stop());

/** How a processor answers its nth wake-up. */
type Answer = (id: string, count: number) => number | null;

interface Process {
  readonly app: INestApplicationContext;
  readonly queue: WakeUpQueue;
  /** Ids of the rows that it was woken for. */
  readonly seen: readonly string[];
}

/** One process with a sender and, with `answer`, a processor. Deployments differ in the id that their database holds. */
async function open(database: string, answer?: Answer, databaseFailures = 0): Promise<Process> {
  const seen: string[] = [];
  let failures = databaseFailures;
  const away = Object.assign(new Error('the database is away'), { syscall: 'connect' });
  const query = () => (failures-- > 0 ? Promise.reject(away) : Promise.resolve([{ id: database }]));
  const redis = createRedis(server.url).on('error', () => undefined);

  @Processor(QUEUE, WAKE_UP_WORKER_OPTIONS)
  class TestProcessor extends WakeUpProcessor implements OnApplicationBootstrap {
    constructor(connection: QueueConnection) {
      super(connection, systemClock);
    }

    onApplicationBootstrap(): void {
      this.start(4);
    }

    beforeApplicationShutdown(): Promise<void> {
      return this.close();
    }

    protected handle(id: string): Promise<number | null> {
      return Promise.resolve(answer?.(id, seen.push(id)) ?? null);
    }
  }

  @Global()
  @Module({
    providers: [
      { provide: REDIS, useValue: redis },
      { provide: DataSource, useValue: { query } },
      { provide: CLOCK, useValue: systemClock },
    ],
    exports: [REDIS, DataSource, CLOCK],
  })
  class ServersModule {}

  @Module({
    imports: [ServersModule, QueueModule, BullModule.registerQueue({ name: QUEUE })],
    providers: answer === undefined ? [] : [TestProcessor],
  })
  class ProcessModule {}

  const app = await NestFactory.createApplicationContext(ProcessModule, { abortOnError: false });
  opened.push(app);
  const queue = new WakeUpQueue(app.get<Queue>(getQueueToken(QUEUE), { strict: false }), app.get(QueueConnection));
  redis.disconnect();
  return { app, queue, seen };
}

const done: Answer = () => null;
const connected = ({ queue }: Process) => until('the connection', 10_000, () => queue.isReachable);
const arrive = ({ seen }: Process, count: number, withinMs = 10_000) =>
  until(`${count} wake-ups`, withinMs, () => seen.length >= count);
/** Sends wake-ups until one arrives: those sent during an outage are lost. */
const untilOneArrives = ({ queue, seen }: Process) => {
  const before = seen.length;
  return until('a wake-up', 30_000, async () => {
    await queue.wake(randomUUID());
    return seen.length > before;
  });
};

describe('a wake-up', () => {
  it('reaches one of the processes, once', async () => {
    const database = randomUUID();
    const [sender, ...receivers] = await Promise.all([open(database), open(database, done), open(database, done)]);
    await connected(sender);
    const sent = Array.from({ length: 20 }, () => randomUUID());
    await Promise.all(sent.map((id) => sender.queue.wake(id)));
    const seen = () => receivers.flatMap((receiver) => receiver.seen);
    await until('all of them', 10_000, () => seen().length >= sent.length);
    expect(seen().toSorted()).toEqual(sent.toSorted());
  });

  it('arrives after its delay, and the latest one of a row replaces an earlier one', async () => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    const [late, replaced] = [randomUUID(), randomUUID()];
    const sentAtMs = performance.now();
    await receiver.queue.wake(late, 2_000);
    await receiver.queue.wake(replaced, 3_600_000);
    await receiver.queue.wake(replaced);
    await arrive(receiver, 2);
    expect(receiver.seen).toEqual([replaced, late]);
    expect(performance.now() - sentAtMs).toBeGreaterThan(1_900);
    // It leaves nothing behind that would suppress the next one.
    await receiver.queue.wake(late);
    await arrive(receiver, 3);
  });

  it('arrives again when the processor returns a delay', async () => {
    const receiver = await open(randomUUID(), (_id, count) => (count === 1 ? 50 : null));
    await connected(receiver);
    const id = randomUUID();
    await receiver.queue.wake(id);
    await arrive(receiver, 2);
    expect(receiver.seen).toEqual([id, id]);
  });

  it('does not reach another deployment on the same Redis', async () => {
    const [ours, theirs] = await Promise.all([open(randomUUID(), done), open(randomUUID(), done)]);
    await connected(ours);
    await Promise.all(Array.from({ length: 20 }, () => ours.queue.wake(randomUUID())));
    await arrive(ours, 20);
    expect(theirs.seen).toEqual([]);
  });

  it('is lost during a Redis outage without delaying its sender, and the next one arrives after the outage', async () => {
    const receiver = await open(randomUUID(), done);
    await connected(receiver);
    await receiver.queue.wake(randomUUID());
    await arrive(receiver, 1);

    server.suspend();
    const sentAtMs = performance.now();
    await receiver.queue.wake(randomUUID());
    expect(performance.now() - sentAtMs).toBeLessThan(allowedMs(500));
    server.resume();
    await server.stop();
    await until('the loss', 5_000, () => !receiver.queue.isReachable);
    await receiver.queue.wake(randomUUID());

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

  it('reaches a process whose database was away when it started', async () => {
    const database = randomUUID();
    const [sender, receiver] = await Promise.all([open(database), open(database, done, 2)]);
    await connected(sender);
    await sender.queue.wake(randomUUID());
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
    await receiver.queue.wake(randomUUID());
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
