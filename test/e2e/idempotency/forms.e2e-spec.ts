import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { wavFile } from '../create-transcription/sound-file';

type Part = readonly [name: string, value: string | Buffer, type?: string, fileName?: string];

const SOUND = wavFile(1);
const PARTS: readonly Part[] = [
  ['model', 'mock/transcribe-1'],
  ['language', 'en'],
  ['file', SOUND, 'audio/wav', 'a.wav'],
];

let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

/** Every form has a different boundary. */
function ask(key: string, parts: readonly Part[]): Promise<CallReply> {
  const body = new FormData();
  for (const [name, value, type, fileName] of parts) {
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, new Blob([new Uint8Array(value)], { type }), fileName);
  }
  return gateway.call('/v1/audio/transcriptions', {
    key: customer.key,
    body,
    headers: { 'idempotency-key': key },
  });
}

/** `PARTS` with one value changed. */
const changed = (name: string, ...rest: [string | Buffer, string?, string?]): readonly Part[] =>
  PARTS.map((part) => (part[0] === name ? [name, ...rest] : part));

describe('a repeated form', () => {
  it.each<[string, readonly Part[]]>([
    ['another boundary', PARTS],
    ['another order', PARTS.toReversed()],
    ['another file name', changed('file', SOUND, 'audio/wav', 'b.mp3')],
  ])('with %s replays the response', async (how, parts) => {
    const key = how.replaceAll(' ', '-');
    const first = await ask(key, PARTS);
    const second = await ask(key, parts);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(second.text).toBe(first.text);
  });

  it.each<[string, readonly Part[]]>([
    ['another file', changed('file', wavFile(1.5), 'audio/wav', 'a.wav')],
    ['another file type', changed('file', SOUND, 'audio/x-wav', 'a.wav')],
    ['another value', changed('language', 'de')],
    ['a missing value', PARTS.filter(([name]) => name !== 'language')],
    ['an unknown field', [...PARTS, ['extra', 'x']]],
  ])('with %s returns 409 idempotency_conflict', async (how, parts) => {
    const key = how.replaceAll(' ', '-');
    expect((await ask(key, PARTS)).status).toBe(200);
    const { status, json } = await ask(key, parts);
    expect([status, json.error.code, json.error.retry_after]).toEqual([409, 'idempotency_conflict', undefined]);
  });
});
