import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { FULL, report, until } from './figures';
import { killWhen } from './kill-when';
import { type Customer, Operator } from './operator';

const KILLS = FULL ? 10 : 2;
const CALLERS = 32;
const LOAD_MS = 700;

/** The part of one speech response that a client received. */
interface Spoken {
  readonly requestId: string | null;
  readonly costMicro: number;
  /** Whether the connection ended as after a complete response. */
  readonly whole: boolean;
  readonly bytes: number;
}

let database: TestDatabase;
let operator: Operator;
let customer: Customer;

beforeAll(async () => {
  database = await createTestDatabase();
  operator = await Operator.connect(database.url);
  customer = await operator.customer();
});
afterAll(async () => {
  await endChildren();
  await operator.close();
  await database.drop();
});

/** Between one and twelve chunks of audio, 20 ms apart, so that a kill hits every moment of a response. */
async function speak(url: string, index: number, onFirstBytes: () => void): Promise<Spoken> {
  const input = `[[mock: chunks=${1 + (index % 12)} delay=20ms]] The cat sat on the mat.`;
  const body = JSON.stringify({ model: 'mock/speech-1', input, voice: 'alloy', response_format: 'pcm' });
  const headers = { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' };
  let response: Response | null = null;
  let bytes = 0;
  const end = (whole: boolean): Spoken => ({
    requestId: response?.headers.get('x-request-id') ?? null,
    costMicro: Number(response?.headers.get('x-llm-cost-micro')),
    whole,
    bytes,
  });
  try {
    response = await fetch(`${url}/v1/audio/speech`, { method: 'POST', headers, body });
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      if (bytes === 0) onFirstBytes();
      bytes += chunk.length;
    }
    return end(response.status === 200);
  } catch {
    return end(false);
  }
}

describe('kill -9 of a gateway that streams speech to 32 clients', () => {
  it('leaves no complete response without a charge, and charges for nothing else', async () => {
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url };
    const spoken: Spoken[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const gateway = await GatewayProcess.start(settings);
      const load = { killed: false, index: kill };
      const received = { whole: 0, begun: 0 };
      const caller = async (): Promise<void> => {
        while (!load.killed) {
          const one = await speak(gateway.url, load.index++, () => received.begun++);
          if (one.bytes > 0) received.begun--;
          if (one.whole) received.whole++;
          spoken.push(one);
        }
      };
      const callers = Array.from({ length: CALLERS }, caller);
      await delay(LOAD_MS);
      await killWhen('complete and begun responses', gateway.child, async () => {
        load.killed = received.whole > 0 && received.begun > 0;
        return load.killed;
      });
      await Promise.all(callers);
    }

    const charges = await operator.charges(customer.organizationId);
    const whole = spoken.filter((each) => each.whole);
    const broken = spoken.filter((each) => !each.whole && each.bytes > 0);
    const chargedThoughBroken = broken.filter(({ requestId }) => charges.has(requestId ?? '')).length;
    report('speech kill', { kills: KILLS, whole: whole.length, broken: broken.length, chargedThoughBroken });
    expect(whole.filter(({ requestId, costMicro }) => charges.get(requestId ?? '') !== costMicro)).toEqual([]);
    expect(Math.min(whole.length, broken.length)).toBeGreaterThan(0);
    // The charge is committed a moment before the end is sent.
    expect(charges.size).toBe(whole.length + chargedThoughBroken);

    await operator.letLeasesPass();
    await GatewayProcess.start(settings);
    await until('the release of all holds', 15_000, async () => (await operator.heldCount()) === 0);
    expect(await operator.violations()).toEqual([]);
  }, 300_000);
});
