import { once } from 'node:events';
import { allowedMs } from '../../faults/figures';
import { answers, COST, cuts, hangs, refuses, TwoUpstreams } from './two-upstreams';

let world: TwoUpstreams;
beforeAll(async () => {
  world = await TwoUpstreams.start();
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

const both = async (routing: object): Promise<[number, number]> => {
  expect((await world.call('local/pair', { routing })).status).toBe(200);
  return world.calls;
};

describe('who is asked first', () => {
  it.each<[string, object, [number, number]]>([
    ['by default the first of the catalogue', {}, [1, 0]],
    ['the one that order names', { order: ['openai'] }, [0, 1]],
    ['the one that only leaves', { only: ['openai'] }, [0, 1]],
    ['the one that ignore leaves', { ignore: ['openai-compatible'] }, [0, 1]],
    ['the cheapest, by price', { strategy: 'price', order: null }, [1, 0]],
  ])('is %s', async (_who, routing, calls) => {
    expect(await both(routing)).toEqual(calls);
  });

  it('is the quickest once both are known, by latency', async () => {
    world.first.answer = (response, request) => setTimeout(() => answers(response, request), 2_000);
    const race = () => world.call('local/race', { routing: { strategy: 'latency' } });
    await race();
    await race();
    expect(world.calls).toEqual([1, 1]);
    for (let time = 0; time < 3; time++) await race();
    expect(world.calls).toEqual([1, 4]);
  });

  it('is each of two equals now and then', async () => {
    for (let time = 0; time < 40; time++) await world.call('local/even');
    // All 40 on one side happen once in 5 * 10^11 runs.
    expect(Math.min(...world.calls)).toBeGreaterThan(0);
  });

  it('tells the upstream nothing of it', async () => {
    await both({ order: ['openai-compatible'], strategy: 'price' });
    expect(world.first.received[0]?.body).not.toContain('routing');
    expect(JSON.stringify(world.first.received[0]?.headers)).not.toContain('price');
  });
});

describe('max_attempts and allow_fallbacks', () => {
  beforeEach(() => {
    world.first.answer = refuses(503);
  });

  it.each<[string, object, number, [number, number]]>([
    ['one attempt is one call', { max_attempts: 1 }, 503, [1, 0]],
    ['two are spent on the first, which is asked twice', { max_attempts: 2 }, 503, [2, 0]],
    ['three reach the second', { max_attempts: 3 }, 200, [2, 1]],
    ['without fallbacks the first is asked twice', { allow_fallbacks: false }, 503, [2, 0]],
  ])('%s', async (_what, routing, status, calls) => {
    expect((await world.call('local/pair', { routing })).status).toBe(status);
    expect(world.calls).toEqual(calls);
  });
});

describe('timeout_ms', () => {
  it('ends the request, whoever is being asked: 504, and nothing is held', async () => {
    world.first.answer = hangs;
    const startMs = performance.now();
    const reply = await world.call('local/pair', { routing: { timeout_ms: 2_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
    expect(performance.now() - startMs).toBeLessThan(allowedMs(3_000));
    expect(world.calls).toEqual([1, 0]);
    expect(await world.spent()).toEqual({ paid: 0, held: 0 });
  });

  it('leaves the second attempt what the first has left', async () => {
    world.first.answer = (response) => setTimeout(() => response.destroy(), 100);
    world.second.answer = hangs;
    const startMs = performance.now();
    const reply = await world.call('local/pair', { routing: { timeout_ms: 5_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
    expect(performance.now() - startMs).toBeLessThan(allowedMs(6_000));
    expect(world.calls).toEqual([1, 1]);
  });

  it('ends a stream within it', async () => {
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
    };
    const reply = await world.call('local/pair', { stream: true, routing: { timeout_ms: 2_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
  });
});

describe('fallback models', () => {
  it('serve when the first cannot, under their own name and at their own price', async () => {
    world.first.answer = refuses(429);
    const reply = await world.call('local/solo', { routing: { models: ['local/reserve'] } });
    expect(reply.status).toBe(200);
    expect(reply.json.model).toBe('local/reserve');
    expect(reply.headers.get('x-llm-model')).toBe('local/reserve');
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST.reserve));
    expect(reply.json.usage.x_llm_cost_micro).toBe(COST.reserve);
    expect(await world.spent()).toEqual({ paid: COST.reserve, held: 0 });
    const [record] = await world.gateway.rows<{ model: string; attempts: number }>(
      'SELECT model, attempts FROM usage_record WHERE organization_id = $1',
      [world.customer.organizationId],
    );
    expect(record).toEqual({ model: 'local/reserve', attempts: 2 });
  });

  it('serve streams in the same way', async () => {
    world.first.answer = refuses(429);
    const reply = await world.call('local/solo', { stream: true, routing: { models: ['local/reserve'] } });
    expect(reply.headers.get('x-llm-model')).toBe('local/reserve');
    const chunks = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['local/reserve']));
    expect(chunks.at(-1).usage.x_llm_cost_micro).toBe(COST.reserve);
  });

  it('are held for at their price before anybody is asked', async () => {
    world.first.answer = hangs;
    const abort = new AbortController();
    const pending = world
      .call('local/solo', { max_tokens: 1_000, routing: { models: ['local/reserve'] } }, abort.signal)
      .catch(() => undefined);
    while (world.calls[0] === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    // A thousand tokens of output at seven micro-units each, and the prompt.
    expect((await world.spent()).held).toBeGreaterThanOrEqual(7_000);
    abort.abort();
    await pending;
  });

  it('must exist, and be allowed for the key', async () => {
    const unknown = await world.call('local/solo', { routing: { models: ['local/reserve', 'local/none'] } });
    expect(unknown.json.error).toMatchObject({ code: 'model_not_found', param: 'routing.models[1]' });
    world.customer = await world.gateway.customer({ allowedModels: ['local/solo'] });
    const closed = await world.call('local/solo', { routing: { models: ['local/reserve'] } });
    expect(closed.json.error).toMatchObject({ code: 'model_not_allowed', param: 'routing.models[0]' });
    expect(world.calls).toEqual([0, 0]);
  });
});

describe('what a deployment does not support', () => {
  it('goes to one that does', async () => {
    expect((await world.call('local/picky', { logit_bias: { '1': 1 } })).status).toBe(200);
    expect(world.calls).toEqual([0, 1]);
  });

  it('is dropped where it may be, unless require_parameters asks for one that heeds it', async () => {
    expect((await world.call('local/picky', { seed: 1 })).status).toBe(200);
    expect(world.calls).toEqual([1, 0]);
    expect((await world.call('local/picky', { seed: 1, routing: { require_parameters: true } })).status).toBe(200);
    expect(world.calls).toEqual([1, 1]);
  });

  it('leaves nobody when require_parameters asks for what nobody promises', async () => {
    const reply = await world.call('local/pair', {
      logprobs: true,
      routing: { require_parameters: true },
    });
    expect(reply.json.error).toMatchObject({ code: 'no_provider_available', param: 'routing' });
    expect(reply.headers.get('retry-after')).toBeNull();
    expect(world.calls).toEqual([0, 0]);
  });

  it('is the client’s 400 when nobody does', async () => {
    const reply = await world.call('local/picky', {
      logit_bias: { '1': 1 },
      routing: { only: ['openai-compatible'] },
    });
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param: 'logit_bias' });
  });
});

it('a client that leaves stops the attempts, also between two of them', async () => {
  const abort = new AbortController();
  world.first.answer = (response) => {
    refuses(503, {}, { 'retry-after': '1' })(response, world.first.received[0] as never);
    response.once('finish', () => abort.abort());
  };
  const pending = world.call('local/pair', {}, abort.signal).catch((error: Error) => error.name);
  await once(abort.signal, 'abort');
  expect(await pending).toBe('AbortError');
  let record: { status: number; attempts: number } | undefined;
  while (record === undefined) {
    [record] = await world.gateway.rows<{ status: number; attempts: number }>(
      'SELECT status, attempts FROM usage_record WHERE organization_id = $1',
      [world.customer.organizationId],
    );
  }
  expect(record).toEqual({ status: 499, attempts: 1 });
  expect(world.calls).toEqual([1, 0]);
  expect(await world.spent()).toEqual({ paid: 0, held: 0 });
});

it('a deployment of a provider that is down is followed by the next one', async () => {
  world.first.answer = (response, request) => (world.calls[0] === 1 ? cuts : answers)(response, request);
  expect((await world.call('local/twins')).status).toBe(200);
  expect(world.calls).toEqual([2, 0]);
  const names = world.first.received.map(({ body }) => (JSON.parse(body) as { model: string }).model.split('-')[0]);
  expect(names).toEqual(['left', 'right']);
});
