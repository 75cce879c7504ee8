/** Processes that send wake-ups, and take them. */
import { randomUUID } from 'node:crypto';
import { BullModule, getQueueToken, Processor } from '@nestjs/bullmq';
import { Global, type INestApplicationContext, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import { DataSource } from 'typeorm';
import { CLOCK, systemClock } from '../../../src/core/time/clock';
import { QueueConnection } from '../../../src/core/queue/queue-connection';
import { QueueModule } from '../../../src/core/queue/queue.module';
import { WAKE_UP_WORKER_OPTIONS, WakeUpProcessor } from '../../../src/core/queue/wake-up-processor';
import { type WakeUp, WakeUpQueue } from '../../../src/core/queue/wake-up-queue';
import type { RedisClient } from '../../../src/core/redis/redis-client';
import { REDIS } from '../../../src/core/redis/redis.module';
import { until } from '../../faults/figures';

const QUEUE = 'test-rows';

const opened: INestApplicationContext[] = [];

export async function closeProcesses(): Promise<void> {
  await Promise.all(opened.splice(0).map((app) => app.close()));
}

/** How a processor answers its nth wake-up. */
export type Answer = (id: string, count: number) => number | null;

export interface Process {
  readonly app: INestApplicationContext;
  readonly queue: WakeUpQueue;
  /** Ids of the rows that it was woken for. */
  readonly seen: readonly string[];
}

/**
 * One process with a sender and, with `answer`, a processor. Deployments differ in the id that their database holds.
 */
export async function openProcess(
  redis: RedisClient,
  database: string,
  answer?: Answer,
  databaseFailures = 0,
): Promise<Process> {
  const seen: string[] = [];
  let failures = databaseFailures;
  const away = Object.assign(new Error('the database is unavailable'), { syscall: 'connect' });
  const query = () => (failures-- > 0 ? Promise.reject(away) : Promise.resolve([{ id: database }]));
  redis.on('error', () => undefined);

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

    protected handle({ id }: WakeUp): Promise<number | null> {
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

/** A row of any organization. */
export const row = (id: string = randomUUID()): WakeUp => ({ organizationId: randomUUID(), id });
export const done: Answer = () => null;
export const connected = ({ queue }: Process) => until('the connection', 10_000, () => queue.isReachable);
export const arrive = ({ seen }: Process, count: number, withinMs = 10_000) =>
  until(`${count} wake-ups`, withinMs, () => seen.length >= count);
/** Sends wake-ups until one arrives: those sent during an outage are lost. */
export const untilOneArrives = ({ queue, seen }: Process) => {
  const before = seen.length;
  return until('a wake-up', 30_000, async () => {
    await queue.wake(row());
    return seen.length > before;
  });
};
