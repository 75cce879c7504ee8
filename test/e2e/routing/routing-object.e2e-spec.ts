import { once } from 'node:events';
import { allowedMs } from '../../faults/figures';
import { chunk } from '../../harness/upstream-models';
import { MovedClock } from '../dashboard/accounts/visitor';
import { answers, COST, cuts, hangs, refuses, TwoUpstreams } from './two-upstreams';

const clock = new MovedClock();
let world: TwoUpstreams;
beforeAll(async () => {
  world = await TwoUpstreams.start({}, clock);
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

const both = async (routing: object): Promise<[number, number]> => {
  expect((await world.call('local/pair', { routing })).status).toBe(200);
  return world.calls;
};

describe('first deployment', () => {
  it.each<[string, object, [number, number]]>([
    ['by default the first of the catalogue', {}, [1, 0]],
    ['the provider that order names', { order: ['openai'] }, [0, 1]],
    ['the provider that only allows', { only: ['openai'] }, [0, 1]],
    ['the provider that ignore does not exclude', { ignore: ['openai-compatible'] }, [0, 1]],
    ['the cheapest by price', { strategy: 'price', order: null }, [1, 0]],
  ])('is %s', async (_who, routing, calls) => {
    expect(await both(routing)).toEqual(calls);
  });

  it('is the fastest by latency once both are measured', async () => {
    // Slower than a stalled machine.
    world.first.answer = (response, request) => {
      clock.moveMinutes(1);
      answers(response, request);
    };
    const race = () => world.call('local/race', { routing: { strategy: 'latency' } });
    await race();
    await race();
    expect(world.calls).toEqual([1, 1]);
    for (let time = 0; time < 3; time++) await race();
    expect(world.calls).toEqual([1, 4]);
  });

  it('alternates between two equal deployments', async () => {
    for (let time = 0; time < 40; time++) await world.call('local/even');
    // A run with all 40 on one side has a probability of 1 in 5 * 10^11.
    expect(Math.min(...world.calls)).toBeGreaterThan(0);
  });

  it('sends no routing object to the upstream', async () => {
    await both({ order: ['openai-compatible'], strategy: 'price' });
    expect(world.first.received[0]?.body).not.toContain('routing');
    expect(JSON.stringify(world.first.received[0]?.headers)).not.toContain('price');
  });
});

describe('max_attempts and allow_fallbacks', () => {
  it.each<[string, object, number, [number, number]]>([
    ['makes one call with one attempt', { max_attempts: 1 }, 503, [1, 0]],
    ['makes two calls to the first provider with two attempts', { max_attempts: 2 }, 503, [2, 0]],
    ['reaches the second provider with three attempts', { max_attempts: 3 }, 200, [2, 1]],
    ['retries only the first provider without fallbacks', { allow_fallbacks: false }, 503, [2, 0]],
  ])('%s', async (_what, routing, status, calls) => {
    expect((await world.callQuickly(refuses(503), 'local/pair', { routing })).status).toBe(status);
    expect(world.calls).toEqual(calls);
  });
});

describe('timeout_ms', () => {
  it('returns 504 when it expires at any provider, and releases the hold', async () => {
    world.first.answer = hangs;
    const startMs = performance.now();
    const reply = await world.call('local/pair', { routing: { timeout_ms: 2_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
    expect(performance.now() - startMs).toBeLessThan(allowedMs(3_000));
    expect(world.calls).toEqual([1, 0]);
    expect(await world.spent()).toEqual({ paid: 0, held: 0 });
  });

  it('gives the second attempt the time that the first left', async () => {
    world.first.answer = (response) => setTimeout(() => response.destroy(), 100);
    world.second.answer = hangs;
    const startMs = performance.now();
    const reply = await world.call('local/pair', { routing: { timeout_ms: 5_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
    expect(performance.now() - startMs).toBeLessThan(allowedMs(6_000));
    expect(world.calls).toEqual([1, 1]);
  });

  it('ends a stream within the timeout', async () => {
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
    };
    const reply = await world.call('local/pair', { stream: true, routing: { timeout_ms: 2_000 } });
    expect(reply.json.error.code).toBe('provider_timeout');
  });
});

describe('fallback models', () => {
  it('serve when the first model fails, with their model id and price', async () => {
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

  it('serve streams too', async () => {
    world.first.answer = refuses(429);
    const reply = await world.call('local/solo', { stream: true, routing: { models: ['local/reserve'] } });
    expect(reply.headers.get('x-llm-model')).toBe('local/reserve');
    const chunks = reply.events.slice(0, -1).map((data) => JSON.parse(data));
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['local/reserve']));
    expect(chunks.at(-1).usage.x_llm_cost_micro).toBe(COST.reserve);
  });

  it('count toward the hold at their price before any provider is called', async () => {
    world.first.answer = hangs;
    const abort = new AbortController();
    const pending = world
      .call('local/solo', { max_tokens: 1_000, routing: { models: ['local/reserve'] } }, abort.signal)
      .catch(() => undefined);
    while (world.calls[0] === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    // A thousand output tokens at seven micro-units each, plus the prompt.
    expect((await world.spent()).held).toBeGreaterThanOrEqual(7_000);
    abort.abort();
    await pending;
  });

  it('must exist and be allowed for the key', async () => {
    const unknown = await world.call('local/solo', { routing: { models: ['local/reserve', 'local/none'] } });
    expect(unknown.json.error).toMatchObject({ code: 'model_not_found', param: 'routing.models[1]' });
    world.customer = await world.gateway.customer({ allowedModels: ['local/solo'] });
    const closed = await world.call('local/solo', { routing: { models: ['local/reserve'] } });
    expect(closed.json.error).toMatchObject({ code: 'model_not_allowed', param: 'routing.models[0]' });
    expect(world.calls).toEqual([0, 0]);
  });
});

describe('a parameter that a deployment does not support', () => {
  it('routes to a deployment that supports it', async () => {
    expect((await world.call('local/picky', { logit_bias: { '1': 1 } })).status).toBe(200);
    expect(world.calls).toEqual([0, 1]);
  });

  it('is dropped where permitted, unless require_parameters selects a deployment that supports it', async () => {
    expect((await world.call('local/picky', { seed: 1 })).status).toBe(200);
    expect(world.calls).toEqual([1, 0]);
    expect((await world.call('local/picky', { seed: 1, routing: { require_parameters: true } })).status).toBe(200);
    expect(world.calls).toEqual([1, 1]);
  });

  it('is refused by its only attempt; require_parameters excludes deployments that cannot do what the request needs', async () => {
    const schema = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };
    const ask = (routing: object) => world.call('local/schemas', { response_format: schema, routing });
    const refusal = { code: 'validation_failed', param: 'response_format' };
    expect((await ask({ allow_fallbacks: false })).json.error).toMatchObject(refusal);
    expect(world.calls).toEqual([0, 0]);
    expect((await ask({ allow_fallbacks: false, require_parameters: true })).status).toBe(200);
    expect(world.calls).toEqual([0, 1]);
    const alone = await ask({ only: ['openai-compatible'], require_parameters: true });
    expect(alone.json.error).toMatchObject(refusal);
  });

  it('returns 503 when require_parameters asks for a parameter that no deployment supports', async () => {
    const reply = await world.call('local/pair', {
      logprobs: true,
      routing: { require_parameters: true },
    });
    expect(reply.json.error).toMatchObject({ code: 'no_provider_available', param: 'routing' });
    expect(reply.headers.get('retry-after')).toBeNull();
    expect(world.calls).toEqual([0, 0]);
  });

  it('returns 400 when no deployment supports it', async () => {
    const reply = await world.call('local/picky', {
      logit_bias: { '1': 1 },
      routing: { only: ['openai-compatible'] },
    });
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param: 'logit_bias' });
  });
});

it('stops all attempts, also between two attempts, when the client disconnects', async () => {
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

it('fails over to the next deployment when a provider is down', async () => {
  world.first.answer = (response, request) => (world.calls[0] === 1 ? cuts : answers)(response, request);
  expect((await world.call('local/twins')).status).toBe(200);
  expect(world.calls).toEqual([2, 0]);
  const names = world.first.received.map(({ body }) => (JSON.parse(body) as { model: string }).model.split('-')[0]);
  expect(names).toEqual(['left', 'right']);
});

describe('a conversation too long for a model', () => {
  const models = ['local/reserve'];
  const tooLong = refuses(400, { code: 'context_length_exceeded', type: 'invalid_request_error' });
  const modelsAskedAt = ({ received }: typeof world.second): string[] =>
    received.map(({ body }) => (JSON.parse(body) as { model: string }).model.split('-')[0] ?? '');
  beforeEach(() => {
    world.first.answer = tooLong;
  });

  it.each([false, true])(
    'fails over to the next model, not to another deployment of the same model (stream: %s)',
    async (stream) => {
      const reply = await world.call('local/pair', { stream, routing: { models } });
      expect([reply.status, reply.headers.get('x-llm-model')]).toEqual([200, 'local/reserve']);
      expect([world.calls, modelsAskedAt(world.second)]).toEqual([[1, 1], ['reserve']]);
      expect(await world.spent()).toEqual({ paid: COST.reserve, held: 0 });
    },
  );

  it('is refused once no model with enough context is left', async () => {
    world.second.answer = tooLong;
    for (const [routing, calls] of [
      [{}, [1, 0]],
      [{ models }, [2, 1]],
      [{ models, allow_fallbacks: false }, [3, 1]],
    ] as const) {
      const { json } = await world.call('local/pair', { routing });
      expect(json.error.code).toBe('validation_failed');
      expect(json.error.message).toContain('maximum context length');
      expect(world.calls).toEqual(calls);
    }
    expect(await world.spent()).toEqual({ paid: 0, held: 0 });
  });

  it.each<[string, object]>([
    ['another invalid request', { code: 'invalid_value', type: 'invalid_request_error' }],
    ['a content refusal', { code: 'content_filter' }],
  ])('%s from the first model is final', async (_what, error) => {
    world.first.answer = refuses(400, error);
    const { json } = await world.call('local/pair', { routing: { models } });
    expect([json.error.code, world.calls]).toEqual(['validation_failed', [1, 0]]);
  });
});

describe('timeouts of a deployment', () => {
  it('limit the wait for the first token and the silence between tokens', async () => {
    world.first.answer = hangs;
    const late = await world.call('local/hasty', { stream: true });
    expect(late.json.error.code).toBe('provider_timeout');
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk({ role: 'assistant', content: 'Hello' }));
    };
    const silent = await world.call('local/hasty', { stream: true });
    expect(JSON.parse(silent.events.at(-2) ?? '').error.code).toBe('stream_interrupted');
  }, 25_000);
});
