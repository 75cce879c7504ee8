import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { FakeUpstream } from '../conformance/fake-upstream';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { FULL, report, until } from './figures';
import { Operator } from './operator';

const INPUTS = 2_048;
const DIMENSIONS = 1_536;
const ROUNDS = FULL ? 20 : 1;
/**
 * How long a batch may block the event loop: a share of its duration, and an absolute limit. A process without CPU time
 * looks like one with a blocked loop, so the long form asserts both and the short form prints them.
 */
const LONGEST_SHARE = FULL ? 1 / 5 : Infinity;
const LONGEST_WAIT_MS = FULL ? 100 : Infinity;

const CATALOGUE = JSON.stringify([
  {
    id: 'local/embed',
    modality: 'embedding',
    input_modalities: ['text'],
    output_modalities: ['embedding'],
    context: 8_192,
    deployments: [{ provider: 'openai-compatible', upstream_model: 'embed' }],
    prices: [
      {
        effective_from: '2026-01-01',
        source: 'made up',
        checked_at: '2026-01-01',
        tokens: { per_1m_micro: { input: 20_000, output: 0 } },
      },
    ],
  },
]);

interface Probe {
  readonly peakRssMiB: number;
  readonly eventLoopMs: { readonly p99: number; readonly max: number };
}

interface EmbeddingList {
  readonly data: readonly { readonly index: number; readonly embedding: string | number[] }[];
  readonly usage: { readonly prompt_tokens: number };
}

/** Numbers with all decimal digits of a 32-bit float. */
const vectorOf = (index: number): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, (_zero, at) => Math.sin(index * DIMENSIONS + at) / 40);
const toBase64 = (vector: Float32Array): string => Buffer.from(vector.buffer).toString('base64');
const fromBase64 = (text: string): number[] => [
  ...new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer),
];

function listOf(write: (vector: Float32Array) => unknown): Buffer {
  const data = Array.from({ length: INPUTS }, (_zero, index) => ({ index, embedding: write(vectorOf(index)) }));
  return Buffer.from(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 9_000, total_tokens: 9_000 } }));
}

describe(`${INPUTS} inputs at once`, () => {
  const directory = createDataDirectory();
  const probeFile = join(directory.path, 'probe.json');
  const answers = { base64: listOf(toBase64), numbers: listOf((vector) => Array.from(vector)) };
  let upstream: FakeUpstream;
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let key: string;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    upstream.answer = (response, { body }) => {
      response.end(body.includes('"encoding_format":"base64"') ? answers.base64 : answers.numbers);
    };
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    ({ key } = await operator.customer());
    const catalogDir = join(directory.path, 'catalogue');
    mkdirSync(catalogDir);
    writeFileSync(join(catalogDir, 'local.json'), CATALOGUE);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir,
      environment: {
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
        OPENAI_BASE_URL: `${upstream.origin}/v1`,
        OPENAI_API_KEY: 'sk-test',
        NODE_OPTIONS: `--require ${resolve(__dirname, 'process-probe.js')}`,
        PROCESS_PROBE_FILE: probeFile,
      },
    });
  });
  afterAll(async () => {
    await endChildren();
    await upstream.stop();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  async function probed(): Promise<Probe> {
    const askedAtMs = Date.now();
    await until('the next measurement', 10_000, () => statSync(probeFile).mtimeMs > askedAtMs);
    return JSON.parse(readFileSync(probeFile, 'utf8')) as Probe;
  }

  async function embed(model: string, format: string): Promise<EmbeddingList> {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: Array(INPUTS).fill('some words'), encoding_format: format }),
    });
    const bytes = await response.arrayBuffer();
    expect([response.status, response.headers.get('content-length')]).toEqual([200, String(bytes.byteLength)]);
    return JSON.parse(Buffer.from(bytes).toString()) as EmbeddingList;
  }

  it.each([
    ['base64', 'base64', 'openai/text-embedding-3-small'],
    ['base64', 'float', 'openai/text-embedding-3-small'],
    ['numbers', 'base64', 'local/embed'],
    ['numbers', 'float', 'local/embed'],
  ])(
    'from a provider that sends %s arrive as %s, in order, without blocking other requests',
    async (form, format, model) => {
      if (FULL) await embed(model, format);
      process.kill(gateway.child.pid, 'SIGUSR2');
      const startedAtMs = performance.now();
      for (let round = 0; round < ROUNDS; round++) {
        const { data, usage } = await embed(model, format);
        expect([data.length, usage.prompt_tokens]).toEqual([INPUTS, 9_000]);
        const places = [0, 1, 1_000, INPUTS - 1];
        const got = places.map((place) => data[place]?.embedding ?? '');
        expect(got.map((each) => (typeof each === 'string' ? fromBase64(each) : each))).toEqual(
          places.map((place) => [...vectorOf(place)]),
        );
        expect(data.every(({ index }, place) => index === place)).toBe(true);
      }
      const { eventLoopMs, peakRssMiB } = await probed();
      const batchMs = Math.round((performance.now() - startedAtMs) / ROUNDS);
      report(`${INPUTS} embeddings, ${form} to ${format}`, { batchMs, ...eventLoopMs, peakRssMiB });
      expect(eventLoopMs.max).toBeLessThan(batchMs * LONGEST_SHARE);
      expect(eventLoopMs.p99).toBeLessThan(LONGEST_WAIT_MS);
    },
    120_000,
  );
});
