import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import type { UsageRequestList } from '../../../../src/contract/dashboard';
import { insertReceipts, keyIdOf } from '../../../integration/usage/receipts';
import { COST, OUTPUT_TOKENS, PROMPT_TOKENS, refuses } from '../../routing/two-upstreams';
import { idOf, sumOf, UsageWorld } from './usage-world';

let usage: UsageWorld;

beforeAll(async () => {
  usage = await UsageWorld.start();
});
afterAll(() => usage.stop());
beforeEach(() => usage.reset());

describe('the list of requests', () => {
  it('includes each request once it is charged, newest first', async () => {
    const first = await usage.upstreams.call('local/solo');
    const second = await usage.upstreams.call('local/pair', { stream: true });
    const json = await usage.list();
    expect(json.data.map((each) => each.request_id)).toEqual([idOf(second), idOf(first)]);
    expect(json.data[1]).toMatchObject({
      key_id: usage.upstreams.customer.keyId,
      model: 'local/solo',
      provider: 'openai-compatible',
      operation: 'createChatCompletion',
      modality: 'text',
      status: 'success',
      http_status: 200,
      error_code: null,
      streamed: false,
      input_tokens: PROMPT_TOKENS,
      output_tokens: OUTPUT_TOKENS,
      attempt_count: 1,
      cost_micro: COST.first,
    });
    expect(json.data[0]?.streamed).toBe(true);
    expect(json.next_cursor).toBeNull();
  });

  it('applies filters to both folded and unfolded rows', async () => {
    usage.upstreams.first.answer = refuses(503);
    const failed = await usage.upstreams.call('local/solo');
    expect(failed.status).toBe(503);
    await usage.reset();
    const { keyId } = usage.upstreams.customer;
    await usage.upstreams.call('local/solo');
    await usage.upstreams.call('local/pair');
    usage.upstreams.first.answer = refuses(503);
    await usage.upstreams.call('local/solo');

    const cases: [string, number][] = [
      ['', 3],
      ['?status=error', 1],
      ['?status=success', 2],
      ['?model=local/solo', 2],
      ['?model=local/solo&status=success', 1],
      ['?error_code=provider_unavailable', 1],
      [`?key_id=${keyId}`, 3],
      [`?key_id=${keyId.toUpperCase()}&model=local/pair`, 1],
      [`?key_id=${randomUUID()}`, 0],
      ['?modality=text', 3],
      ['?modality=image', 0],
      ['?modality=audio', 0],
      ['?operation=createChatCompletion', 3],
      ['?operation=createImage', 0],
      ['?provider=openai-compatible', 3],
      ['?provider=openai', 0],
      ['?min_cost_micro=1', 2],
      ['?min_cost_micro=1000000000000', 0],
      [`?min_cost_micro=${COST.first}&status=success&model=local/solo`, 1],
      ['?min_total_ms=0', 3],
      ['?min_total_ms=600000', 0],
      ['?min_total_ms=0&status=error&provider=openai-compatible', 1],
      ['?to=2026-01-01', 0],
      ['?from=2100-01-01', 0],
      ['?from=2026-01-01&to=2100-01-01&status=error', 1],
    ];
    for (const fold of [false, true]) {
      if (fold) await usage.fold();
      const counts = await Promise.all(cases.map(async ([query]) => [query, (await usage.list(query)).data.length]));
      expect(counts).toEqual(cases);
    }
  });

  it.each(['', '&status=success'])('continues after a page without gaps or duplicates (%s)', async (filter) => {
    const { organizationId } = usage.viewer;
    await insertReceipts(usage.upstreams.gateway.pool, { organizationId, count: 130, hours: 0.001, keys: 3 });
    const ids: string[] = [];
    for (let cursor: string | null = '', pages = 0; cursor !== null && pages < 10; pages++) {
      const page: UsageRequestList = await usage.list(`?limit=50${filter}${cursor && `&cursor=${cursor}`}`);
      ids.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    const rows = await usage.upstreams.gateway.rows<{ id: string }>(
      `SELECT id FROM usage_record WHERE organization_id = $1 AND ($2 = '' OR status < 400) ORDER BY created_at DESC, id DESC`,
      [organizationId, filter],
    );
    expect(ids).toEqual(rows.map(({ id }) => id));
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=nonsense', 'cursor'],
    [`cursor=${Buffer.from(`2026-02-30T00:00:00Z ${randomUUID()}`).toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from(`0000-01-01T00:00:00Z ${randomUUID()}`).toString('base64url')}`, 'cursor'],
    ['from=yesterday', 'from'],
    ['from=2026-02-30T99:00:00Z', 'from'],
    ['key_id=7', 'key_id'],
    ['model=%00', 'model'],
    ['model=', 'model'],
    ['status=good', 'status'],
    ['operation=deleteEverything', 'operation'],
    ['provider=', 'provider'],
    ['min_cost_micro=-1', 'min_cost_micro'],
    ['min_cost_micro=1000000000001', 'min_cost_micro'],
    ['min_total_ms=1.5', 'min_total_ms'],
    ['page=2', 'page'],
  ])('refuses ?%s', async (query, param) => {
    for (const list of ['requests', 'requests.csv']) {
      const { status, json } = await usage.get(`/${list}?${query}`);
      expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
    }
  });
});

describe('the export', () => {
  it('has every request of a filter, with amounts that add up', async () => {
    const { organizationId } = usage.viewer;
    await insertReceipts(usage.upstreams.gateway.pool, { organizationId, count: 2_500, hours: 20, keys: 3 });
    const { headers, text } = await usage.get(`/requests.csv?key_id=${keyIdOf(1)}`);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toContain('attachment');
    const [names, ...lines] = text
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    const column = names?.indexOf('cost_micro') as number;
    const [row] = await usage.upstreams.gateway.rows<{ count: string; sum: string }>(
      'SELECT count(*), sum(charged_micro) FROM usage_record WHERE organization_id = $1 AND key_id = $2',
      [organizationId, keyIdOf(1)],
    );
    expect(lines).toHaveLength(Number(row?.count));
    expect(sumOf(lines.map((line) => ({ cost_micro: Number(line[column]) })))).toBe(Number(row?.sum));
    expect(new Set(lines.map(([id]) => id)).size).toBe(lines.length);
  });

  it('has every expensive request, also when few are', async () => {
    const { organizationId } = usage.viewer;
    await insertReceipts(usage.upstreams.gateway.pool, { organizationId, count: 2_500, hours: 20, keys: 3 });
    const { text } = await usage.get('/requests.csv?min_cost_micro=799&provider=mock&min_total_ms=300');
    const ids = text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]);
    const list = await usage.list('?min_cost_micro=799');
    expect(list.data.map((each) => each.request_id)).toEqual(ids);
    expect(list.data.map((each) => each.cost_micro)).toEqual([799, 799, 799]);
  });

  it('has only the header line without requests', async () => {
    const { status, text } = await usage.get('/requests.csv');
    expect([status, text.split('\r\n')[1]]).toEqual([200, '']);
    expect(text.startsWith('\uFEFFrequest_id,created_at,')).toBe(true);
  });

  it('returns an ordinary error when the first page cannot be read', async () => {
    const { organizationId } = usage.viewer;
    await insertReceipts(usage.upstreams.gateway.pool, { organizationId, count: 1, hours: 1 });
    failingFrom(1);
    const { status, json } = await usage.get('/requests.csv');
    expect([status, json.error.code]).toEqual([500, 'internal_error']);
  });

  it('resets the connection when a later page cannot be read', async () => {
    const { organizationId } = usage.viewer;
    // In the first window of the search, so that one query reads a page.
    await insertReceipts(usage.upstreams.gateway.pool, { organizationId, count: 2_500, hours: 4 });
    failingFrom(2);
    await expect(usage.get('/requests.csv')).rejects.toThrow();
  });

  afterEach(() => jest.restoreAllMocks());

  /** Makes the query of the nth page fail, as without a database. */
  function failingFrom(failing: number): void {
    const dataSource = usage.upstreams.gateway.app.get(DataSource, { strict: false });
    let page = 0;
    jest.spyOn(dataSource, 'query').mockImplementation((...call) => {
      if (call[0].includes('AS stretch') && ++page >= failing) throw new Error('out of order');
      return DataSource.prototype.query.apply(dataSource, call);
    });
  }
});
