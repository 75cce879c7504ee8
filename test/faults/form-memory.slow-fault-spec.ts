import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { assertMatchesDocument } from '../harness/openapi-validator';
import { pngHead } from '../harness/png-head';
import { createTestRedis } from '../harness/redis';
import { FULL, report } from './figures';
import { Operator } from './operator';
import { memoryGrowthMiB, peakMiB } from './process-memory';

const PATH = '/v1/images/edits';
const BOUNDARY = 'b0undary';
const LIMIT_BYTES = 26_214_400;
const LIMIT_GROWTH_MIB = 64;
const ROUNDS = FULL ? 20 : 1;

const field = (name: string, value = ''): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="a"\r\n\r\n`;
const END = `\r\n--${BOUNDARY}--\r\n`;
const filled = (head: string, bytes: number, filler: string, tail = END): Buffer => {
  const room = bytes - head.length - tail.length;
  return Buffer.from(head + filler.repeat(Math.ceil(room / filler.length)).slice(0, room) + tail, 'latin1');
};
const png = (width: number, height: number): string => pngHead(width, height).toString('latin1');
const ASKED = field('model', 'mock/none') + field('prompt', 'a cat');

/** A valid form for an unknown model. */
const GOOD = filled(ASKED + file('image') + png(1, 1), LIMIT_BYTES, '\0');

/** Forms that an attacker could send to exhaust memory, and the expected status. */
const ATTACKS: readonly (readonly [kind: string, body: Buffer, status: number])[] = [
  ['a file of zeros', filled(ASKED + file('image'), LIMIT_BYTES, '\0'), 400],
  ['a file of boundary prefixes', filled(ASKED + file('image'), LIMIT_BYTES, `\r\n--${BOUNDARY.slice(0, -1)}`), 400],
  ['a pixel bomb', filled(ASKED + file('image') + png(60_000, 60_000), LIMIT_BYTES, '\0'), 400],
  ['a byte too many', filled(ASKED + file('image'), LIMIT_BYTES + 1, '\0'), 413],
  ['an endless text', filled(field('user').slice(0, -2), LIMIT_BYTES, 'x'), 400],
  ['an endless header', filled(`--${BOUNDARY}\r\n`, LIMIT_BYTES, 'X: 1\r\n'), 400],
  ['an endless header line', filled(`--${BOUNDARY}\r\nX: `, LIMIT_BYTES, 'x'), 400],
  ['an endless boundary', filled(`--${BOUNDARY}`, LIMIT_BYTES, ' '), 400],
  ['endless parts', filled('', LIMIT_BYTES, field('x')), 400],
  ['endless empty files', filled('', LIMIT_BYTES, `${file('image')}\r\n`), 400],
  ['bytes before the first boundary', filled('', LIMIT_BYTES, '\r\n--b0'), 400],
  ['bytes after the last boundary', filled(ASKED + END, LIMIT_BYTES, field('x')), 400],
];

let database: TestDatabase;
let operator: Operator;
let gateway: GatewayProcess;
let key: string;

beforeAll(async () => {
  database = await createTestDatabase();
  operator = await Operator.connect(database.url);
  key = (await operator.customer()).key;
  gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url });
});
afterAll(async () => {
  await endChildren();
  await operator.close();
  await database.drop();
});

async function send(body: Buffer): Promise<number> {
  const response = await fetch(`${gateway.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body,
  });
  const headers = Object.fromEntries(response.headers);
  assertMatchesDocument({ method: 'POST', path: PATH, status: response.status, headers, body: await response.text() });
  return response.status;
}

describe('hostile forms of up to 25 MiB', () => {
  it('are refused with the expected status, and need at most 64 MiB more than valid ones', async () => {
    const { pid } = gateway.child;
    // Peaks, because a collection may free the bodies of the last requests at any time.
    const validMiB = await peakMiB(pid, async () => {
      for (let index = 0; index < 4; index++) expect(await send(GOOD)).toBe(404);
    });
    const growth: Record<string, number> = {};
    const hostileMiB = await peakMiB(pid, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const [kind, body, status] of ATTACKS) {
          growth[kind] = await memoryGrowthMiB(pid, async () => {
            expect([kind, await send(body)]).toEqual([kind, status]);
          });
        }
      }
    });
    report('hostile forms', { validMiB, hostileMiB, growth });
    expect(hostileMiB - validMiB).toBeLessThanOrEqual(LIMIT_GROWTH_MIB);
  });
});
