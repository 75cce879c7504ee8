import type { Readable } from 'node:stream';
import { NO_USAGE } from '../../providers/contract/usage';
import type { RequestSummary } from '../../billing/usage/usage.types';
import { requestsCsv } from './requests-csv';

const REQUEST: RequestSummary = {
  id: '019a0000-0000-7000-8000-000000000001',
  createdAt: '2026-01-02T03:04:05.678901Z',
  keyId: '019a0000-0000-7000-8000-000000000002',
  model: '=HYPERLINK("https://example.com")',
  provider: null,
  operation: 'createChatCompletion',
  httpStatus: 499,
  errorCode: null,
  streamed: true,
  usage: { ...NO_USAGE, inputText: 10, inputCacheRead: 5, outputText: 7 },
  usageEstimated: true,
  attempts: 1,
  firstTokenMs: null,
  totalMs: 12,
  chargedMicro: 34n,
};

/** Counts the pages that are read. */
class Pages {
  readCount = 0;

  async *read(count: number): AsyncGenerator<RequestSummary[]> {
    while (this.readCount < count) {
      this.readCount++;
      yield Array.from({ length: 1_000 }, () => REQUEST);
    }
  }
}

async function send(pages: AsyncGenerator<readonly RequestSummary[]>, method = 'GET'): Promise<Readable> {
  return (await requestsCsv(pages, method)).content as Readable;
}

it('writes one line per request and escapes spreadsheet formulas', async () => {
  const stream = await send(
    (async function* () {
      yield [REQUEST];
    })(),
  );
  const [, line] = Buffer.concat(await stream.toArray())
    .toString()
    .split('\r\n');
  expect(line).toBe(
    'req_019a0000000070008000000000000001,2026-01-02T03:04:05.678901Z,019a0000-0000-7000-8000-000000000002,' +
      `"'=HYPERLINK(""https://example.com"")",,createChatCompletion,text,error,499,,true,15,7,0,0,0,true,1,,12,34`,
  );
});

it('reads at most one page ahead of a slow client', async () => {
  const pages = new Pages();
  const stream = await send(pages.read(50));
  for await (const chunk of stream) {
    expect(chunk).toBeDefined();
    // The client reads nothing more.
    for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
    expect(pages.readCount).toBeLessThanOrEqual(3);
    break;
  }
});

it('stops reading when the client disconnects', async () => {
  const pages = new Pages();
  const stream = await send(pages.read(50));
  stream.destroy();
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
  expect(pages.readCount).toBe(1);
});

it('reads one page for HEAD and sends no body', async () => {
  const pages = new Pages();
  expect(await send(pages.read(50), 'HEAD')).toBeNull();
  expect(pages.readCount).toBe(1);
});

it('rejects without sending a byte when the first page cannot be read', async () => {
  const broken = (async function* (): AsyncGenerator<RequestSummary[]> {
    yield* [];
    throw new Error('no database');
  })();
  await expect(send(broken)).rejects.toThrow('no database');
});
