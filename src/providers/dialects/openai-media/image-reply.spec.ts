import { setImmediate as nextTurn } from 'node:timers/promises';
import { tinyPng } from '../../../../test/conformance/media-answers';
import { providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageResult } from '../../contract/images';
import { ImageReply } from './image-reply';

type Cut = (bytes: Buffer) => Buffer[];
const pieces =
  (size: number): Cut =>
  (bytes) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
const whole: Cut = (bytes) => [bytes];
const everyByte = pieces(1);

/** Reads a reply as undici delivers it: an exception from `onData` ends it. */
function read(document: string | object, count = 1, cut = whole): Promise<ImageResult> {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  return new Promise((resolve, reject) => {
    const reply = new ImageReply(count, resolve, reject);
    try {
      for (const chunk of cut(Buffer.from(text))) reply.onData(chunk);
    } catch (error) {
      reject(error as Error);
      return;
    }
    reply.onEnd();
  });
}

/** With a colour whose base64 contains a slash. */
const png = tinyPng(252);
const base64 = png.toString('base64');
const list = (...data: readonly object[]): object => ({
  created: 1,
  data,
  usage: { input_tokens: 5, output_tokens: 9 },
});

describe('ImageReply', () => {
  it.each([
    ['as it is', JSON.stringify(list({ b64_json: base64, revised_prompt: 'größer "b64_json": "x' }))],
    ['indented', JSON.stringify(list({ revised_prompt: 'größer "b64_json": "x', b64_json: base64 }), null, 4)],
    [
      'with escaped slashes',
      JSON.stringify(list({ b64_json: base64, revised_prompt: 'größer "b64_json": "x' })).replaceAll(
        '/',
        String.raw`\/`,
      ),
    ],
    [
      'next to a null URL',
      JSON.stringify(list({ url: null, b64_json: base64, revised_prompt: 'größer "b64_json": "x' })),
    ],
  ])('reads an image written %s, however the bytes are split', async (_name, text) => {
    for (const cut of [whole, everyByte, pieces(7)]) {
      const { images, usage } = await read(text, 1, cut);
      expect(images).toEqual([{ bytes: png, revisedPrompt: 'größer "b64_json": "x' }]);
      expect(usage).toMatchObject({ inputText: 5, outputImage: 9 });
    }
  });

  it('returns no revised prompt when the upstream sends none', async () => {
    const { images } = await read(list({ b64_json: base64, revised_prompt: null }, { b64_json: base64 }), 2);
    expect(images.map(({ revisedPrompt }) => revisedPrompt)).toEqual([null, null]);
  });

  it('passes on a URL where the upstream sends one', async () => {
    const url = 'https://images.example/a.png?sig=%2F';
    expect((await read(list({ url, b64_json: null }))).images).toEqual([{ url, revisedPrompt: null }]);
    expect((await read(list({ url, b64_json: '' }))).images).toEqual([{ url, revisedPrompt: null }]);
  });

  it('returns fewer images than requested but never more, and no usage for discarded ones', async () => {
    const one = { b64_json: base64 };
    expect((await read(list(one, one), 5)).images).toHaveLength(2);
    expect(await read(list(one, one, { b64_json: 'no image' }), 2)).toMatchObject({
      images: [one, one].map(() => ({ bytes: png })),
      usage: null,
    });
  });

  it('keeps the valid images when others are invalid', async () => {
    const { images, usage } = await read(list({ b64_json: '????' }, { b64_json: base64 }, {}), 3);
    expect([images, usage]).toEqual([[{ bytes: png, revisedPrompt: null }], null]);
  });

  it.each([
    ['no list', '{"created":1}'],
    ['an empty list', list()],
    ['a list of texts', `{"data":["${base64}"]}`],
    ['an item that is empty', list({})],
    ['text behind the padding', list({ b64_json: `${base64}!!!!` })],
    ['base64 of something else', list({ b64_json: Buffer.from('<html>').toString('base64') })],
    ['a file URL', list({ url: 'file:///etc/passwd' })],
    ['an invalid URL', list({ url: 'https://' })],
    ['an overlong URL', list({ url: `https://a.example/${'a'.repeat(10_000)}` })],
    ['half a document', JSON.stringify(list({ b64_json: base64 })).slice(0, -5)],
    ['half an item', JSON.stringify(list({ b64_json: base64 })).slice(0, 60)],
    ['invalid JSON', 'upstream connect error'],
    ['nothing', ''],
    ['an endless frame', `{"x":"${'a'.repeat(70_000)}","data":[{"b64_json":"${base64}"}]}`],
  ])('refuses %s', async (_name, document) => {
    const { code, options } = await providerErrorOf(read(document));
    expect([code, options.phase]).toEqual(['provider_error', 'first_token']);
  });

  it('reads no more than 64 MiB', async () => {
    const reply = new ImageReply(
      10,
      () => undefined,
      () => undefined,
    );
    const chunk = Buffer.alloc(1024 * 1024, 'a');
    reply.onData(Buffer.from('{"data":[{"b64_json":"'));
    const readOn = (): void => {
      for (let mebibytes = 0; mebibytes < 64; mebibytes++) reply.onData(chunk);
    };
    expect(readOn).toThrow('longer than 64 MiB');
  });

  it('maps an error inside a reply with status 200', async () => {
    const error = { code: 'content_policy_violation', message: 'no' };
    const { code, options } = await providerErrorOf(read({ error }));
    expect([code, options.details?.['reason']]).toEqual(['validation_failed', 'content_filtered']);
  });

  it('never blocks longer at a time than one of ten images takes', async () => {
    const image = Buffer.concat([tinyPng(), Buffer.alloc(2_400_000, 1)]).toString('base64');
    const bytes = Buffer.from(JSON.stringify(list(...Array.from({ length: 10 }, () => ({ b64_json: image })))));
    const shares: number[] = [];
    for (let round = 0; round < 5; round++) shares.push(await longestShare(bytes));
    // Each image is a tenth of the work; decoding all thirty megabytes at the end would be one step. The best of five
    // rounds counts, since garbage collection pauses are not the reader's fault.
    expect(Math.min(...shares)).toBeLessThan(0.5);
  });

  it('interleaves with other replies, so that many at once do not block the event loop', async () => {
    const image = Buffer.concat([tinyPng(), Buffer.alloc(400_000)]).toString('base64');
    const bytes = Buffer.from(JSON.stringify(list({ b64_json: image })));
    const read: ImageResult[] = [];
    for (let reply = 0; reply < 5; reply++) {
      const one = new ImageReply(1, (result) => read.push(result), throwError);
      one.onData(bytes);
      one.onEnd();
    }
    const readByTurn: number[] = [read.length];
    while (read.length < 5 && readByTurn.length < 100) {
      const before = read.length;
      await nextTurn();
      readByTurn.push(read.length - before);
    }
    expect([read.length, Math.max(...readByTurn)]).toEqual([5, 1]);
  });
});

function throwError(error: Error): never {
  throw error;
}

/** The longest step's share of all work, in CPU time. */
async function longestShare(bytes: Buffer): Promise<number> {
  let longest = 0;
  let total = 0;
  await new Promise((resolve, reject) => {
    const reply = new ImageReply(10, resolve, reject);
    const measured = (step: () => void): void => {
      const before = process.threadCpuUsage();
      step();
      const { user, system } = process.threadCpuUsage(before);
      const duration = user + system;
      longest = Math.max(longest, duration);
      total += duration;
    };
    for (const chunk of pieces(65_536)(bytes)) measured(() => reply.onData(chunk));
    measured(() => reply.onEnd());
  });
  return longest / total;
}
