import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { FakeUpstream } from '../conformance/fake-upstream';
import { tinyPng } from '../conformance/media-answers';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { FULL, report, until } from './figures';
import { Operator } from './operator';

const IMAGES = 10;
const IMAGE_BYTES = 4 * 1_048_576;
const ROUNDS = FULL ? 20 : 2;
/** A share of the batch duration, and an absolute limit: asserted in the long form only, as for embeddings. */
const LONGEST_SHARE = FULL ? 1 / 3 : Infinity;
const LONGEST_WAIT_MS = FULL ? 50 : Infinity;

const CATALOGUE = JSON.stringify([
  {
    id: 'local/images',
    modality: 'image',
    input_modalities: ['text'],
    output_modalities: ['image'],
    deployments: [{ provider: 'openai-compatible', upstream_model: 'images' }],
    prices: [
      {
        effective_from: '2026-01-01',
        source: 'made up',
        checked_at: '2026-01-01',
        image: { rows: [{ per_image_micro: 1 }] },
      },
    ],
  },
]);

interface Probe {
  readonly peakRssMiB: number;
  readonly eventLoopMs: { readonly p99: number; readonly max: number };
}

interface Reply {
  readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
}

describe(`${IMAGES} images of ${IMAGE_BYTES / 1_048_576} MiB`, () => {
  const directory = createDataDirectory();
  const probeFile = join(directory.path, 'probe.json');
  const picture = Buffer.concat([tinyPng(), randomBytes(IMAGE_BYTES - tinyPng().length)]);
  const item = { b64_json: picture.toString('base64') };
  const answer = Buffer.from(JSON.stringify({ data: Array.from({ length: IMAGES }, () => item) }));
  let upstream: FakeUpstream;
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let key: string;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    upstream.answer = (response) => response.end(answer);
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    ({ key } = await operator.customer());
    const catalogDir = join(directory.path, 'catalogue');
    mkdirSync(catalogDir);
    writeFileSync(join(catalogDir, 'local.json'), CATALOGUE);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      dataDir: directory.path,
      catalogDir,
      environment: {
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
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

  async function draw(format: string): Promise<Reply> {
    const response = await fetch(`${gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/images', prompt: 'a cat', n: IMAGES, response_format: format }),
    });
    expect(response.status).toBe(200);
    return JSON.parse(Buffer.from(await response.arrayBuffer()).toString()) as Reply;
  }

  async function bytesOf({ url, b64_json: base64 = '' }: Reply['data'][number]): Promise<Buffer> {
    if (url === undefined) return Buffer.from(base64, 'base64');
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  }

  it.each(['b64_json', 'url'])(
    'arrive as %s without blocking other requests',
    async (format) => {
      await draw(format);
      process.kill(gateway.child.pid, 'SIGUSR2');
      const startedAtMs = performance.now();
      let last: Reply = { data: [] };
      for (let round = 0; round < ROUNDS; round++) last = await draw(format);
      const { eventLoopMs, peakRssMiB } = await probed();
      const batchMs = Math.round((performance.now() - startedAtMs) / ROUNDS);
      expect(last.data).toHaveLength(IMAGES);
      for (const each of last.data) expect((await bytesOf(each)).equals(picture)).toBe(true);
      report(`${IMAGES} images as ${format}`, { batchMs, ...eventLoopMs, peakRssMiB });
      expect(eventLoopMs.max).toBeLessThan(batchMs * LONGEST_SHARE);
      expect(eventLoopMs.p99).toBeLessThan(LONGEST_WAIT_MS);
    },
    120_000,
  );
});
