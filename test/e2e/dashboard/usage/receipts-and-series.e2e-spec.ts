import { randomUUID } from 'node:crypto';
import type { UsageReceipt, UsageSums } from '../../../../src/contract/dashboard';
import { insertReceipts } from '../../../integration/usage/receipts';
import { COST, OUTPUT_TOKENS, PROMPT_TOKENS, refuses } from '../../routing/two-upstreams';
import { idOf, sumOf, UsageWorld } from './usage-world';

const HOUR_MS = 3_600_000;

let usage: UsageWorld;

beforeAll(async () => {
  usage = await UsageWorld.start({ MOCK_MEDIA_PROVIDER: 'true' });
});
afterAll(() => usage.stop());
beforeEach(() => usage.reset());

describe('the receipt of a request', () => {
  it('explains its charge', async () => {
    const reply = await usage.upstreams.call('local/solo');
    const receipt = await usage.receiptOf(reply);
    expect(receipt).toMatchObject({
      request_id: idOf(reply),
      cost_micro: COST.first,
      uncollected_micro: 0,
      job_id: null,
      tokens: { input_text: PROMPT_TOKENS, output_text: OUTPUT_TOKENS },
      lines: [
        {
          unit: 'input_text',
          quantity: PROMPT_TOKENS,
          rate_micro: 1_000_000,
          per: 1_000_000,
          cost_micro: PROMPT_TOKENS,
        },
        {
          unit: 'output_text',
          quantity: OUTPUT_TOKENS,
          rate_micro: 1_000_000,
          per: 1_000_000,
          cost_micro: OUTPUT_TOKENS,
        },
      ],
      attempts: [{ number: 1, provider: 'openai-compatible', outcome: 'success' }],
    });
    expect(receipt.price?.content).toMatchObject({ tokens: { per_1m_micro: { input: 1_000_000 } } });
    expect(receipt.hold_micro).toBeGreaterThan(COST.first);
    expect((await usage.get(`/requests/${receipt.id.toUpperCase()}`)).json).toEqual(receipt);
  });

  it.each([false, true])('lists every attempt with its provider and outcome (stream: %s)', async (stream) => {
    const reset = (): Promise<void> => usage.reset();
    const reply = await usage.upstreams.callQuickly(refuses(503), 'local/pair', { stream }, reset);
    const receipt = await usage.receiptOf(reply);
    expect(receipt.attempts.map((each) => [each.number, each.provider, each.outcome])).toEqual([
      [1, 'openai-compatible', 'provider_unavailable'],
      [2, 'openai-compatible', 'provider_unavailable'],
      [3, 'openai', 'success'],
    ]);
    expect(receipt).toMatchObject({ provider: 'openai', attempt_count: 3, cost_micro: COST.second });
    expect(sumOf(receipt.lines)).toBe(COST.second);
  });

  it('has no lines when every attempt failed, and lists the attempts', async () => {
    usage.upstreams.first.answer = refuses(503);
    const receipt = await usage.receiptOf(await usage.upstreams.call('local/solo'));
    expect(receipt).toMatchObject({ status: 'error', error_code: 'provider_unavailable', cost_micro: 0, lines: [] });
    expect(receipt.attempts.map((each) => each.outcome)).toEqual(['provider_unavailable', 'provider_unavailable']);
    const [first, second] = receipt.attempts;
    expect(second?.started_ms).toBeGreaterThanOrEqual((first?.started_ms ?? Infinity) + (first?.duration_ms ?? 0) - 1);
    expect(receipt.total_ms).toBeGreaterThanOrEqual((second?.started_ms ?? Infinity) + (second?.duration_ms ?? 0) - 1);
  });

  it.each([
    ['/v1/images/generations', { model: 'mock/image-1', prompt: 'A cat', size: '256x256', n: 2 }],
    ['/v1/audio/speech', { model: 'mock/speech-1', voice: 'nova', input: 'Is there anybody out there?' }],
    ['/v1/embeddings', { model: 'mock/embed-1', input: 'Anybody?' }],
    ['/v1/chat/completions', { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hi [[mock: no_usage]]' }] }],
  ])('adds up to the charge of %s', async (path, body) => {
    const reply = await usage.upstreams.gateway.call(path, { key: usage.upstreams.customer.key, body });
    expect(reply.status).toBe(200);
    const receipt = await usage.receiptOf(reply);
    expect(receipt.cost_micro).toBe(Number(reply.headers.get('x-llm-cost-micro')));
    expect(receipt.lines.map((line) => line.unit)).not.toContain('correction');
    expect(sumOf(receipt.lines)).toBe(receipt.cost_micro);
  });

  it('keeps the options that selected the price row of an image', async () => {
    const body = { model: 'mock/image-1', prompt: 'A cat', size: '256x256', quality: 'low' };
    const reply = await usage.upstreams.gateway.call('/v1/images/generations', {
      key: usage.upstreams.customer.key,
      body,
    });
    const { id } = await usage.receiptOf(reply);
    await expect(
      usage.upstreams.gateway.rows('SELECT priced_by, attempt_log FROM usage_record WHERE id = $1', [id]),
    ).resolves.toEqual([{ priced_by: { size: '256x256', quality: 'low' }, attempt_log: null }]);
  });

  it('links to the job of a video and adds up to its charge', async () => {
    const job = await usage.upstreams.gateway.call('/v1/video/generations', {
      key: usage.upstreams.customer.key,
      headers: { 'idempotency-key': randomUUID() },
      body: { model: 'mock/video-1', prompt: 'A cat [[mock: queued=0 run=0]]', duration_seconds: 1, audio: false },
    });
    expect(job.status).toBe(202);
    const { id } = job.json;
    while ((await usage.get(`/requests/${id}`)).status === 404) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const receipt: UsageReceipt = (await usage.get(`/requests/${id}`)).json;
    expect(receipt).toMatchObject({ id, job_id: id, modality: 'video', status: 'success', attempt_count: 1 });
    expect(receipt.lines.map((line) => line.unit)).not.toContain('correction');
    expect(receipt.cost_micro).toBeGreaterThan(0);
    expect(sumOf(receipt.lines)).toBe(receipt.cost_micro);
  });

  it.each(['req_0', 'req_00000000000000000000000000000000', randomUUID(), 'x', '%00'])(
    'returns 404 for %s',
    async (id) => {
      const { status, json } = await usage.get(`/requests/${id}`);
      expect([status, json.error.code]).toEqual([404, 'not_found']);
    },
  );
});

describe('usage over time', () => {
  it('sums charges immediately, by any grouping', async () => {
    await usage.upstreams.call('local/solo');
    await usage.upstreams.call('local/pair');
    usage.upstreams.first.answer = refuses(503);
    await usage.upstreams.call('local/solo');
    const paid = { requests: 3, errors: 1, input_tokens: 2 * PROMPT_TOKENS, output_tokens: 2 * OUTPUT_TOKENS };
    const expected: Record<string, string[]> = {
      none: ['all'],
      model: ['local/pair', 'local/solo'],
      key: [usage.upstreams.customer.keyId],
      modality: ['text'],
      operation: ['createChatCompletion'],
      status: ['success', 'error'],
      error_code: ['success', 'provider_unavailable'],
    };
    for (const fold of [false, true]) {
      if (fold) await usage.fold();
      for (const interval of ['hour', 'day']) {
        for (const [groupBy, groups] of Object.entries(expected)) {
          const json = await usage.series(`?interval=${interval}&group_by=${groupBy}`);
          expect(json.total).toMatchObject({ ...paid, cost_micro: 2 * COST.first });
          expect(json.data.map((each) => each.group).toSorted()).toEqual(groups.toSorted());
          expect(sumOf(json.data.map((each) => each.total))).toBe(2 * COST.first);
          expect(sumOf(json.data.flatMap((each) => each.buckets))).toBe(2 * COST.first);
        }
      }
    }
    const { paid: charged } = await usage.upstreams.spent();
    expect(charged).toBe(2 * COST.first);
  });

  it('sums one model or one key, by what its totals know', async () => {
    const { gateway, customer } = usage.upstreams;
    await usage.upstreams.call('local/solo');
    await usage.upstreams.call('local/pair');
    const other = await gateway.customer();
    for (const fold of [false, true]) {
      if (fold) await usage.fold();
      for (const interval of ['hour', 'day']) {
        for (const groupBy of ['none', 'model', 'modality', 'operation', 'status', 'error_code']) {
          const json = await usage.series(`?interval=${interval}&group_by=${groupBy}&model=local/solo`);
          expect([json.total.requests, json.total.cost_micro, json.data.length]).toEqual([1, COST.first, 1]);
        }
        for (const groupBy of ['none', 'key', 'status', 'error_code']) {
          const json = await usage.series(`?interval=${interval}&group_by=${groupBy}&key_id=${customer.keyId}`);
          expect([json.total.requests, json.total.cost_micro, json.data.length]).toEqual([2, 2 * COST.first, 1]);
        }
        const strange = await usage.series(`?interval=${interval}&key_id=${other.keyId}`);
        expect([strange.total.requests, strange.data]).toEqual([0, []]);
      }
    }
  });

  it('has the latencies of successful requests, over time and by model but not by key', async () => {
    await usage.upstreams.call('local/solo');
    const { json: list } = await usage.get('/requests');
    const [request] = list.data;
    usage.upstreams.first.answer = refuses(503);
    await usage.upstreams.call('local/solo');
    for (const fold of [false, true]) {
      if (fold) await usage.fold();
      for (const interval of ['hour', 'day']) {
        for (const groupBy of ['none', 'model', 'modality', 'status']) {
          const { total, data } = await usage.series(`?interval=${interval}&group_by=${groupBy}`);
          const [success, ...failures] = data;
          const busy = success?.buckets.filter(({ total_ms: times }) => times !== null) ?? [];
          for (const sums of [total, success?.total, ...busy]) {
            expectNear(sums?.total_ms, request.total_ms);
            expectNear(sums?.first_token_ms, request.first_token_ms);
          }
          expect(busy).toHaveLength(1);
          expect(failures.map((each) => each.total.total_ms)).toEqual(failures.map(() => null));
        }
        const { total } = await usage.series(`?interval=${interval}&group_by=key`);
        expect([total.requests, total.first_token_ms, total.total_ms]).toEqual([2, null, null]);
      }
    }
  });

  it.each([
    ['group_by=key&model=local/solo', 'group_by'],
    ['group_by=model&key_id=00000000-0000-4000-8000-000000000000', 'group_by'],
    ['model=local/solo&key_id=00000000-0000-4000-8000-000000000000', 'key_id'],
    ['key_id=1', 'key_id'],
  ])('refuses ?%s, which no totals answer', async (query, param) => {
    const { status, json } = await usage.get(`/series?${query}`);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
  });

  it('fills hours without requests', async () => {
    await usage.upstreams.call('local/solo');
    const json = await usage.series('?interval=hour');
    const [group] = json.data;
    expect(group?.buckets).toHaveLength(24);
    expect(group?.buckets[0]?.starts_at).toBe(json.from);
    expect(group?.buckets.filter((bucket) => bucket.requests > 0)).toHaveLength(1);
    expect(Date.parse(json.to) - Date.parse(json.from)).toBe(24 * 3_600_000);
  });

  it('widens a period to whole days, and is empty without requests', async () => {
    const json = await usage.series('?from=2026-03-01T12:00:00Z&to=2026-03-03T00:00:01Z&group_by=model');
    expect([json.from, json.to]).toEqual(['2026-03-01T00:00:00.000Z', '2026-03-04T00:00:00.000Z']);
    expect([json.data, json.total.requests]).toEqual([[], 0]);
  });

  it.each(['key', 'model'])(
    'lists the 20 most expensive groups by %s separately, and the others together',
    async (groupBy) => {
      const { gateway } = usage.upstreams;
      const { organizationId } = usage.viewer;
      await insertReceipts(gateway.pool, { organizationId, count: 2_000, hours: 60, keys: 40, models: 40 });
      // Whole days, and parts of two more.
      const to = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
      const from = new Date(to.getTime() - 55 * HOUR_MS);
      const column = groupBy === 'key' ? 'key_id' : 'model';
      const all = await gateway.rows<{ name: string; paid: number; requests: number }>(
        `SELECT ${column} AS name, sum(charged_micro)::integer AS paid, count(*)::integer AS requests FROM usage_record
        WHERE organization_id = $1 AND created_at >= $2 AND created_at < $3 GROUP BY 1 ORDER BY 2 DESC, 3 DESC, 1`,
        [organizationId, from, to],
      );
      const rest = all.slice(20).reduce((sum, { paid }) => sum + paid, 0);
      const expected = [...all.slice(0, 20).map(({ name, paid }) => [name, paid]), ['other', rest]];
      for (const fold of [false, true]) {
        if (fold) await usage.fold();
        const query = `?group_by=${groupBy}&interval=hour&from=${from.toISOString()}&to=${to.toISOString()}`;
        const { data, total } = await usage.series(query);
        expect(data.map((each) => [each.group, each.total.cost_micro])).toEqual(expected);
        expect(data.every((each) => sumOf(each.buckets) === each.total.cost_micro)).toBe(true);
        expect(total.requests).toBe(all.reduce((sum, { requests }) => sum + requests, 0));
      }
    },
  );

  it.each([
    ['from=2026-01-02&to=2026-01-01', 'from'],
    ['from=2020-01-01&to=2026-01-01', 'from'],
    ['from=2026-01-01&to=2026-03-01&interval=hour', 'from'],
    ['interval=week', 'interval'],
    ['group_by=color', 'group_by'],
    ['group_by=key&group_by=model', 'group_by'],
    ['limit=5', 'limit'],
  ])('refuses ?%s', async (query, param) => {
    const { status, json } = await usage.get(`/series?${query}`);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
  });
});

/** The quantiles of one request. */
function expectNear(quantiles: UsageSums['total_ms'] | undefined, exactMs: number): void {
  expect(quantiles?.p50).toBe(quantiles?.p95);
  expect(Math.abs((quantiles?.p50 ?? Infinity) - exactMs)).toBeLessThanOrEqual(exactMs * 0.09);
}
