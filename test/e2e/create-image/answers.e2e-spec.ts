import type { Answer } from '../../conformance/fake-upstream';
import { disconnect, fault, images, imageUrls, json, script, tinyPng } from '../../conformance/media-answers';
import type { CallReply } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { ImageGateway, PRICES } from './image-gateway';

let served: ImageGateway;

beforeAll(async () => {
  served = await ImageGateway.start();
});
afterAll(() => served.stop());

const pictures = ({ json: { data } }: CallReply): Buffer[] =>
  data.map((item: { b64_json: string }) => Buffer.from(item.b64_json, 'base64'));

it('returns the images and their cost, and writes a receipt', async () => {
  served.upstream.answer = images(2, null);
  const { reply, cost } = await served.costOf(() => served.create({ n: 2 }));
  expect(reply.status).toBe(200);
  expect(pictures(reply)).toEqual([tinyPng(0), tinyPng(1)]);
  expect(Object.keys(reply.json.data[0])).toEqual(['b64_json']);
  expect(Math.abs(reply.json.created - Date.now() / 1000)).toBeLessThan(60);
  expect(reply.json.usage).toEqual({ images: 2, x_llm_cost_micro: 2 * PRICES.other });
  expect(reply.headers.get('x-llm-cost-micro')).toBe(String(2 * PRICES.other));
  expect(reply.headers.get('x-llm-model')).toBe('local/images');
  expect(cost).toBe(2 * PRICES.other);
  const [receipt] = await served.gateway.rows<object>(
    'SELECT operation, status, charged_micro, images, usage_estimated FROM usage_record ORDER BY created_at DESC LIMIT 1',
  );
  expect(receipt).toEqual({
    operation: 'createImage',
    status: 200,
    charged_micro: String(2 * PRICES.other),
    images: '2',
    usage_estimated: false,
  });
});

it('sends the provider only the requested parameters', async () => {
  served.upstream.answer = images(1);
  const options = { size: '64x48', quality: 'high', style: 'vivid', output_format: 'webp', background: 'transparent' };
  const fields = { n: 1, ...options, complexity: 'low', output_compression: 50, moderation: 'low', user: 'ada' };
  await served.create({ ...fields, input_fidelity: 'high', x_mine: 1, routing: { max_attempts: 1 } });
  expect(served.lastAsked?.url).toBe('/v1/images/generations');
  expect(served.lastBody).toEqual({ model: 'images', prompt: 'a cat', response_format: 'b64_json', ...fields });
  await served.create({
    n: null,
    size: null,
    quality: null,
    style: null,
    output_format: null,
    background: 'auto',
    output_compression: 100,
    moderation: 'auto',
    user: null,
    input_images: null,
    routing: null,
  });
  expect(served.lastBody).toEqual({ model: 'images', prompt: 'a cat', response_format: 'b64_json', n: 1 });
});

it('reports the size that the images have where the provider made another than requested', async () => {
  served.upstream.answer = images(2);
  const body = { n: 2, size: '1024x768' };
  expect((await served.create(body)).json.size).toBe('1x1');
  expect((await served.create({ ...body, response_format: 'url' })).json.size).toBe('1x1');
});

it('returns revised_prompt only when the provider rewrote the prompt', async () => {
  const b64_json = tinyPng().toString('base64');
  const prompts = ['a cat', 'a "grey" cat', null, ''];
  served.upstream.answer = json({ data: prompts.map((revised_prompt) => ({ b64_json, revised_prompt })) });
  const { json: reply } = await served.create({ n: 4 });
  expect(reply.data.map((item: object) => ('revised_prompt' in item ? item.revised_prompt : 'absent'))).toEqual([
    'absent',
    'a "grey" cat',
    'absent',
    'absent',
  ]);
});

it('sends the input images to the model', async () => {
  served.upstream.answer = images(1);
  const bytes = tinyPng(7).toString('base64');
  const reply = await served.create({
    model: 'local/follower',
    input_images: [bytes, `data:image/png;base64,${bytes}`],
  });
  expect(reply.status).toBe(200);
  expect(served.lastAsked?.url).toBe('/v1/images/edits');
});

it('accepts a prompt of 32,000 characters of any byte length', async () => {
  served.upstream.answer = images(1);
  expect((await served.create({ prompt: '😀'.repeat(32_000) })).status).toBe(200);
});

describe('a URL', () => {
  it('serves the image under a signature that is verified', async () => {
    served.upstream.answer = images(2);
    const reply = await served.create({ n: 2, response_format: undefined });
    expect(reply.json.data.map((item: object) => Object.keys(item))).toEqual([['url'], ['url']]);
    for (const [index, { url }] of reply.json.data.entries()) {
      const fetched = await fetch(url);
      expect([fetched.status, fetched.headers.get('content-type')]).toEqual([200, 'image/png']);
      expect(Buffer.from(await fetched.arrayBuffer())).toEqual(tinyPng(index));
    }
    const forged = reply.json.data[0].url.replace(/signature=./, 'signature=~');
    expect((await fetch(forged)).status).toBe(404);
  });

  it('is not the vendor’s URL: the gateway fetches the image, and a URL that must not be fetched is a provider failure', async () => {
    served.upstream.answer = imageUrls('https://127.0.0.1/a.png');
    const { reply, cost } = await served.costOf(() => served.create({ response_format: 'url' }));
    expect([reply.status, reply.json.error.code, cost]).toEqual([502, 'provider_error', 0]);
  });
});

describe('the charge', () => {
  it.each([
    ['low', PRICES.low],
    ['high', PRICES.high],
    ['medium', PRICES.other],
  ])('depends on the quality %s and the number', async (quality, price) => {
    served.upstream.answer = images(3);
    const { reply, cost } = await served.costOf(() => served.create({ n: 3, quality }));
    expect([reply.json.usage.x_llm_cost_micro, cost]).toEqual([3 * price, 3 * price]);
  });

  it.each([{}, { size: 'auto', quality: 'auto' }])(
    'uses the first size and quality of the catalogue for %j',
    async (body) => {
      served.upstream.answer = images(1);
      const { cost } = await served.costOf(() => served.create({ model: 'local/listed', ...body }));
      expect([cost, served.lastBody]).toEqual([7, expect.objectContaining({ size: '512x512', quality: 'hd' })]);
      const other = await served.costOf(() => served.create({ model: 'local/listed', size: '256x256' }));
      expect([other.cost, served.lastBody]).toEqual([5, expect.not.objectContaining({ quality: expect.anything() })]);
    },
  );

  it('covers the images made when fewer are made than requested', async () => {
    served.upstream.answer = images(2);
    const { reply, cost } = await served.costOf(() => served.create({ n: 4 }));
    expect([reply.json.data.length, reply.json.usage.images, cost]).toEqual([2, 2, 2 * PRICES.other]);
  });

  it('covers no more than the requested images when more are made', async () => {
    served.upstream.answer = images(3);
    const { reply, cost } = await served.costOf(() => served.create({ n: 2 }));
    expect([pictures(reply), cost]).toEqual([[tinyPng(0), tinyPng(1)], 2 * PRICES.other]);
  });

  it('is by token for a model priced by token', async () => {
    served.upstream.answer = images(1, {
      input_tokens: 50,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      output_tokens: 200,
    });
    const { reply, cost } = await served.costOf(() => served.create({ model: 'local/tokens' }));
    expect([reply.json.usage, cost]).toEqual([{ images: 1, x_llm_cost_micro: 690 }, 690]);
  });

  it.each<[string, object | null]>([
    ['nothing', null],
    ['no tokens', { input_tokens: 0, output_tokens: 0 }],
    ['nonsense', { input_tokens: -1, output_tokens: 'many' }],
  ])('is the token hold when the provider reports %s', async (_case, usage) => {
    served.upstream.answer = images(2, usage);
    // Two text tokens, and two images by the rows that estimate them.
    const { cost } = await served.costOf(() => served.create({ model: 'local/tokens', n: 2 }));
    expect(cost).toBe(2 + 2 * 500);
    // A square of 1,024 pixels takes 272 tokens at low quality.
    const bare = await served.costOf(() =>
      served.create({ model: 'local/bare-tokens', n: 2, size: '1024x1024', quality: 'low' }),
    );
    expect(bare.cost).toBe(2 + 2 * 272 * 3);
    const [receipt] = await served.gateway.rows<object>(
      'SELECT usage_estimated FROM usage_record ORDER BY created_at DESC LIMIT 1',
    );
    expect(receipt).toEqual({ usage_estimated: true });
  });
});

describe('a provider that makes one image at a time', () => {
  const ask = (body: object = {}) => served.costOf(() => served.create({ model: 'local/one-by-one', n: 3, ...body }));

  it('is called concurrently, once per image', async () => {
    const waiting: (() => void)[] = [];
    served.upstream.answer = (response, request) => {
      waiting.push(() => images(1)(response, request));
      // No call is answered before all calls have arrived.
      if (waiting.length === 3) for (const answer of waiting) answer();
    };
    const { reply, cost } = await ask();
    expect([reply.json.data.length, reply.json.usage.images, cost]).toEqual([3, 3, 3 * PRICES.other]);
    expect(waiting.length).toBe(3);
    expect(served.lastBody).toMatchObject({ n: 1 });
  });

  it.each([
    ['refuses', fault(400, { code: 'content_policy_violation' })],
    ['fails for', fault(503)],
    ['breaks off', disconnect],
    ['sends nonsense for', json({ data: [{ b64_json: 'bm90IGFuIGltYWdl' }] })],
  ])('delivers and charges the other images when it %s one', async (_case, failure) => {
    const before = served.upstream.received.length;
    served.upstream.answer = script(images(1), failure, images(1));
    const { reply, cost } = await ask();
    expect([reply.status, reply.json.data.length, cost]).toEqual([200, 2, 2 * PRICES.other]);
    expect(reply.json.usage).toEqual({ images: 2, x_llm_cost_micro: 2 * PRICES.other });
    expect(served.upstream.received.length - before).toBe(3);
  });

  it('is awaited when its first call fails', async () => {
    let answerRest = (): void => undefined;
    let calls = 0;
    served.upstream.answer = (response, request) => {
      if (++calls === 1) {
        fault(503)(response, request);
        return;
      }
      const previous = answerRest;
      answerRest = () => {
        previous();
        images(1)(response, request);
      };
      if (calls === 3) void settle(50).then(() => answerRest());
    };
    const { reply } = await ask();
    expect([reply.status, reply.json.data.length]).toEqual([200, 2]);
  });

  it('returns its refusal when it refuses all', async () => {
    served.upstream.answer = fault(400, { code: 'content_policy_violation' });
    const { reply, cost } = await ask();
    expect([reply.status, reply.json.error.code, cost]).toEqual([400, 'validation_failed', 0]);
    expect(reply.json.error.details).toMatchObject({ reason: 'content_filtered' });
  });

  it('is not retried after any of its calls was accepted', async () => {
    const before = served.upstream.received.length;
    served.upstream.answer = script(fault(429, {}, { 'retry-after': '0' }), disconnect, fault(503));
    const { reply, cost } = await ask();
    expect([reply.status, cost]).toEqual([503, 0]);
    expect(served.upstream.received.length - before).toBe(3);
  });

  it('is paid for the tokens of all calls', async () => {
    const usage = { input_tokens: 10, output_tokens: 100 };
    const asMany: Answer = (response, request) => images(JSON.parse(request.body).n, usage)(response, request);
    served.upstream.answer = asMany;
    const all = await ask({ model: 'local/by-three', n: 7 });
    expect([all.reply.json.usage.images, all.cost]).toEqual([7, 3 * 310]);
    served.upstream.answer = script(asMany, fault(500), asMany);
    const some = await ask({ model: 'local/by-three', n: 7 });
    expect([4, 5]).toContain(some.reply.json.data.length);
    expect([some.reply.json.usage.images, some.cost]).toEqual([some.reply.json.data.length, 2 * 310]);
  });
});

describe('at-most-once execution', () => {
  it.each([
    ['is cut off', disconnect, 503],
    ['is answered with 500', fault(500), 503],
    ['is answered with 504', fault(504), 504],
    ['is answered with nonsense', json('<html>'), 502],
    ['is answered without images', json({ data: [] }), 502],
  ])('a request that was accepted and %s is neither retried nor charged', async (_case, answer, status) => {
    const before = served.upstream.received.length;
    served.upstream.answer = answer;
    const { reply, cost } = await served.costOf(() => served.create());
    expect([reply.status, cost]).toEqual([status, 0]);
    expect(served.upstream.received.length - before).toBe(1);
  });
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
