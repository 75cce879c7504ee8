import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '../conformance/fake-upstream';
import { json, tinyPng } from '../conformance/media-answers';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { FULL, report, until } from './figures';
import { type KeyedCall, type KeyedReply, send, sendUntilServed } from './keyed-calls';
import { type Customer, Operator } from './operator';

const TWINS = FULL ? 1_000 : 100;
const KILLS = FULL ? 5 : 1;
const CALLS = 30;
/** Pause between the calls, so that a kill hits all phases of a request. */
const STAGGER_MS = 15;
const DRAWING_MS = 250;
const CHARGED_BEFORE_KILL = 5;
/** Every nth call is still being generated at the kill, however slow the machine is. */
const UNFINISHED_EVERY = 5;
const PRICE_MICRO = 4_000;

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
        image: { rows: [{ per_image_micro: PRICE_MICRO }] },
      },
    ],
  },
]);

describe('an image request with an Idempotency-Key', () => {
  const directory = createDataDirectory();
  /** Number of provider calls by prompt. */
  const asked = new Map<string, number>();
  /** Prompts whose image does not arrive before the kill. */
  const unfinished = new Set<string>();
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let upstream: FakeUpstream;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    mkdirSync(join(directory.path, 'catalogue'));
    writeFileSync(join(directory.path, 'catalogue', 'local.json'), CATALOGUE);
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    upstream = await FakeUpstream.start();
    let drawn = 0;
    upstream.answer = (response, request) => {
      const { prompt } = JSON.parse(request.body) as { prompt: string };
      asked.set(prompt, (asked.get(prompt) ?? 0) + 1);
      if (unfinished.has(prompt)) return;
      const answer = json({ data: [{ b64_json: tinyPng(drawn++ % 256).toString('base64') }] });
      setTimeout(() => answer(response, request), DRAWING_MS);
    };
    gateways = await Promise.all([start(), start()]);
  });
  beforeEach(async () => {
    customer = await operator.customer();
  });
  afterAll(async () => {
    await endChildren();
    await upstream.stop();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  function start(): Promise<GatewayProcess> {
    return GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: join(directory.path, 'catalogue'),
      environment: { OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1` },
    });
  }

  const callOf = (prompt: string, { url }: GatewayProcess): KeyedCall => ({
    url,
    key: customer.key,
    idempotencyKey: prompt.replaceAll(' ', '-'),
    path: '/v1/images/generations',
    body: { model: 'local/images', prompt, response_format: 'b64_json' },
  });
  const gatewayOf = (index: number): GatewayProcess => gateways[index % gateways.length] as GatewayProcess;
  const chargesOf = async (): Promise<number[]> => [...(await operator.charges(customer.organizationId)).values()];

  it(`is executed and charged once for ${TWINS} concurrent requests at two gateways`, async () => {
    const ask = (index: number) => sendUntilServed(callOf('twins', gatewayOf(index)));
    const startedAtMs = performance.now();
    const replies = await Promise.all(Array.from({ length: TWINS }, (_, index) => ask(index)));
    const tookMs = Math.round(performance.now() - startedAtMs);

    const [first, ...more] = replies.filter(({ status, replayed }) => status === 200 && !replayed);
    expect(more).toEqual([]);
    const replays = replies.filter(({ replayed }) => replayed);
    const conflicts = replies.filter(({ status }) => status === 409);
    const others = replies.filter((reply) => reply !== first && !replays.includes(reply) && !conflicts.includes(reply));
    const counts = { replays: replays.length, conflicts: conflicts.length, others: others.length };
    report('F-20b images', { twins: TWINS, tookMs, ...counts });
    expect(others).toEqual([]);
    for (const { retryAfter } of conflicts) expect(retryAfter).toBeGreaterThanOrEqual(1);
    const late = await Promise.all(conflicts.map((_, index) => ask(index)));
    for (const { status, replayed, text } of [...replays, ...late]) {
      expect([status, replayed, text]).toEqual([200, true, first?.text]);
    }
    expect(asked.get('twins')).toBe(1);
    expect(await chargesOf()).toEqual([PRICE_MICRO]);
  }, 120_000);

  it.each(Array.from({ length: KILLS }, (_, kill) => kill))(
    'is never executed twice, whatever state kill -9 leaves (%d)',
    async (kill) => {
      const promptOf = (call: number) => `kill ${kill} call ${call}`;
      const seen = await killInTheMidst(promptOf);
      const survivor = gatewayOf(0);
      await operator.letLeasesPass();
      await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
      const before = new Map(asked);
      const retryAll = () => Promise.all(seen.map((_, call) => sendUntilServed(callOf(promptOf(call), survivor))));
      const retries = await retryAll();

      for (const [call, { status, replayed, text }] of retries.entries()) {
        const prompt = promptOf(call);
        expect(asked.get(prompt) ?? 0).toBeLessThanOrEqual(1);
        if (seen[call]?.status === 200) expect([status, replayed, text]).toEqual([200, true, seen[call]?.text]);
        // The provider was called and the outcome is unknown: the key reports that from now on.
        else if (before.has(prompt)) expect(replayed).toBe(true);
        if (status === 500) expect([replayed, JSON.parse(text).error.code]).toEqual([true, 'internal_error']);
        else expect(status).toBe(200);
      }
      const lost = retries.filter(({ status }) => status === 500);
      expect(lost.length).toBeGreaterThan(0);
      expect((await retryAll()).map(({ status, replayed }) => [status, replayed])).toEqual(
        retries.map(({ status }) => [status, true]),
      );
      expect(await chargesOf()).toEqual(Array(CALLS - lost.length).fill(PRICE_MICRO));
      expect(await operator.violations()).toEqual([]);
      report(`unknown outcome, kill ${kill}`, {
        calls: CALLS,
        answered: seen.filter(({ status }) => status === 200).length,
        asked: before.size,
        unknown: lost.length,
      });
    },
    300_000,
  );

  /** The responses of a gateway that was killed under load. */
  async function killInTheMidst(promptOf: (call: number) => string): Promise<KeyedReply[]> {
    const victim = await start();
    const prompts = Array.from({ length: CALLS }, (_, call) => promptOf(call));
    for (let call = 0; call < CALLS; call += UNFINISHED_EVERY) unfinished.add(promptOf(call));
    const killed = until('enough charges', 20_000, async () => {
      const isDrawing = prompts.some((prompt) => unfinished.has(prompt) && asked.has(prompt));
      return isDrawing && (await chargesOf()).length >= CHARGED_BEFORE_KILL;
    }).then(() => victim.kill());
    const calls: Promise<KeyedReply>[] = [];
    for (let call = 0; call < CALLS; call++) {
      calls.push(send(callOf(promptOf(call), victim)));
      await delay(STAGGER_MS);
    }
    await killed;
    unfinished.clear();
    return Promise.all(calls);
  }
});
