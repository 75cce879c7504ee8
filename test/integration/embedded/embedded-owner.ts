import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { ServicesState } from '../../../src/core/embedded/services-file';
import { allowedMs } from '../../faults/figures';

/** A running `owner-process.ts`. */
export interface Owner {
  readonly process: ChildProcess;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

export const STARTS_WITHIN_MS = allowedMs(15_000);
export const STARTS_AGAIN_WITHIN_MS = allowedMs(5_000);

const HARNESS = join(__dirname, '../../harness/register-typescript.js');
const owners: ChildProcess[] = [];

/** Ends every owner that the test has not ended. */
export async function endOwners(): Promise<void> {
  await Promise.all(owners.splice(0).map((owner) => end(owner, 'SIGTERM')));
}

export function forkOwner(dataDir: string, mode = 'start'): ChildProcess {
  const child = fork(join(__dirname, 'owner-process.ts'), [dataDir, mode], {
    execArgv: ['--require', HARNESS],
    detached: true,
  });
  owners.push(child);
  return child;
}

export async function start(dataDir: string, withinMs = STARTS_WITHIN_MS, mode = 'start'): Promise<Owner> {
  const child = forkOwner(dataDir, mode);
  const signal = AbortSignal.timeout(withinMs);
  const [message] = (await once(child, 'message', { signal })) as [
    { databaseUrl: string; redisUrl: string; error?: string },
  ];
  if (message.error !== undefined) {
    throw new Error(message.error);
  }
  return { process: child, ...message };
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal);
  await exitOf(child);
  return child.exitCode;
}

export async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit');
  }
}

export function readState(dataDir: string): ServicesState {
  return JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
}

export async function connect({ databaseUrl }: Pick<Owner, 'databaseUrl'>): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export async function query(owner: Pick<Owner, 'databaseUrl'>, statement: string): Promise<unknown[]> {
  const client = await connect(owner);
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

export async function ping({ redisUrl }: Pick<Owner, 'redisUrl'>): Promise<string> {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: null, enableReadyCheck: false });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/** Asks again until the answer comes: what happens in other processes raises no event here. */
export async function eventually<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (const deadlineMs = performance.now() + 60_000; ;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadlineMs) {
        throw error;
      }
      await delay(50);
    }
  }
}
