import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { assertMatchesDocument } from '../harness/openapi-validator';
import { createTestRedis } from '../harness/redis';
import { allowedMs, FULL, report, until } from './figures';
import { Operator } from './operator';

const PATH = '/v1/chat/completions';
const LIMIT_BYTES = 10_485_760;
const PARALLEL = 50;
const ROUNDS = FULL ? 5 : 1;

interface Probe {
  readonly rssMiB: number;
  readonly peakRssMiB: number;
  readonly eventLoopMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** A chat of exactly `bytes` bytes that the mock delays for a moment, like a vendor. */
function chatOf(bytes: number, filler = 'x'): Buffer {
  const [head, tail] = [
    '{"model":"mock/chat-1","max_tokens":5,"messages":[{"role":"user","content":"',
    ' [[mock: first_token=1s]]"}]}',
  ];
  const room = bytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
  const count = Math.floor(room / Buffer.byteLength(filler));
  return Buffer.from(head + filler.repeat(count) + 'x'.repeat(room - count * Buffer.byteLength(filler)) + tail);
}

/** A chat with `count` additional strings, each with an escape, of `bytes` bytes in total. */
function stringsOf(count: number, bytes: number): Buffer {
  const text = `"${String.raw`\u0061`}${'x'.repeat(Math.floor(bytes / count) - 9)}"`;
  const chat = chatOf(1_000).subarray(0, -1).toString();
  return Buffer.from(`${chat},"texts":[${Array.from({ length: count }, () => text).join(',')}]}`);
}

const members = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',');

/** Bodies that blocked the process or grew its memory, all within the size limit, and one beyond. */
const BODIES: Readonly<Record<string, Buffer>> = {
  'text of the largest size': chatOf(LIMIT_BYTES),
  'text of two bytes a character': chatOf(LIMIT_BYTES, 'ж'),
  'one byte too many': chatOf(LIMIT_BYTES + 1),
  '600,000 names': Buffer.from(`{${members(600_000)}}`),
  '4.9 million numbers': Buffer.from(`{"a":[${'1,'.repeat(4_900_000)}1]}`),
  'as many names as are allowed': Buffer.from(`{${members(99_000)}}`),
  'as many objects as are allowed': Buffer.from(`{"a":[${'{},'.repeat(99_000)}0]}`),
  '1.8 million nested lists': Buffer.from(`{"a":[${`${'['.repeat(124)}${']'.repeat(124)},`.repeat(14_500)}0]}`),
  'as many escaped strings as are allowed': stringsOf(99_000, 9_900_000),
  '990,000 escaped strings': stringsOf(990_000, 8_910_000),
  'text that never ends': Buffer.from(`{"model":"${'x'.repeat(LIMIT_BYTES - 20)}`),
};

/** The expected response to each body sent alone. */
const ALONE: Readonly<Record<string, string>> = {
  'text of the largest size': '200',
  'text of two bytes a character': '200',
  'one byte too many': '413 request_too_large',
  '600,000 names': '400 validation_failed',
  '4.9 million numbers': '400 validation_failed',
  'as many names as are allowed': '400 validation_failed',
  'as many objects as are allowed': '400 validation_failed',
  '1.8 million nested lists': '400 validation_failed',
  'as many escaped strings as are allowed': '200',
  '990,000 escaped strings': '400 validation_failed',
  'text that never ends': '400 invalid_json',
};

describe('fifty of the largest bodies at once', () => {
  const directory = createDataDirectory();
  const probeFile = join(directory.path, 'probe.json');
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      environment: {
        // V8 takes the size of its young generation from the memory of the machine: that of a container, on any
        // machine.
        NODE_OPTIONS: `--max-semi-space-size=16 --require ${resolve(__dirname, 'process-probe.js')}`,
        PROCESS_PROBE_FILE: probeFile,
      },
    });
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  /** The measurements so far; the gateway writes them five times a second. */
  async function probed(): Promise<Probe> {
    const askedAtMs = Date.now();
    await until('the next measurement', 10_000, () => statSync(probeFile).mtimeMs > askedAtMs);
    return JSON.parse(readFileSync(probeFile, 'utf8')) as Probe;
  }

  async function send(key: string, body: Buffer): Promise<string> {
    const response = await fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    const text = await response.text();
    const headers = Object.fromEntries(response.headers);
    assertMatchesDocument({ method: 'POST', path: PATH, status: response.status, headers, body: text });
    if (response.status === 503) expect(headers['retry-after']).toBe('1');
    return response.status === 200 ? '200' : `${response.status} ${JSON.parse(text).error.code}`;
  }

  /** A busy machine can refuse a body and recovers; a leaked budget refuses it permanently. */
  async function sendUntilServed(key: string, body: Buffer): Promise<string> {
    let outcome = '';
    await until('an answer', 10_000, async () => {
      outcome = await send(key, body);
      return outcome !== '503 service_unavailable';
    });
    return outcome;
  }

  it('are answered or shed, in 512 MiB, without blocking the event loop for long', async () => {
    const { key } = await operator.customer(10n ** 15n);
    const kinds = Object.entries(BODIES);
    const outcomes: Record<string, Record<string, number>> = {};
    process.kill(gateway.child.pid, 'SIGUSR2');
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(
        Array.from({ length: PARALLEL }, async (_, index) => {
          // Half of them are large texts: those are processed furthest.
          const [kind, body] = kinds[index % 2 === 0 ? 0 : (index >> 1) % kinds.length] as [string, Buffer];
          const outcome = await send(key, body).catch((error: Error) => `broken: ${String(error.cause)}`);
          const counts = (outcomes[kind] ??= {});
          counts[outcome] = (counts[outcome] ?? 0) + 1;
        }),
      );
    }
    await until('the end of the last request', 5_000, async () => (await operator.heldCount()) === 0);
    const figures = await probed();
    report(`${PARALLEL} bodies of up to 10 MiB at once`, { outcomes, ...figures });

    expect(figures.peakRssMiB).toBeLessThanOrEqual(512);
    expect(figures.eventLoopMs.p99).toBeLessThanOrEqual(allowedMs(250));
    const codes = new Set(Object.values(outcomes).flatMap(Object.keys));
    const allowed = [
      '200',
      '400 invalid_json',
      '400 validation_failed',
      '413 request_too_large',
      '503 service_unavailable',
    ];
    expect([...codes].filter((code) => !allowed.includes(code))).toEqual([]);
    expect(outcomes['text of the largest size']?.['200']).toBeGreaterThan(0);
    expect(outcomes['one byte too many']).toEqual({ '413 request_too_large': expect.any(Number) });
    // No budget leaked: together these exceed it.
    for (let index = 0; index < 2; index++) {
      for (const [kind, body] of kinds) expect([kind, await sendUntilServed(key, body)]).toEqual([kind, ALONE[kind]]);
    }
    expect(await operator.violations()).toEqual([]);
  }, 300_000);
});
