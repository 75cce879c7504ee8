import type { ApiKey } from '../../../../src/contract/dashboard';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { act, create, expectError, keysOf } from './key-actions';

let gateway: TestGateway;
let client: DashboardClient;

beforeAll(async () => {
  gateway = await TestGateway.start();
});
beforeEach(async () => {
  client = await gateway.dashboardUser({ role: 'developer' });
});

afterAll(() => gateway.stop());

async function read(query: Readonly<Record<string, string>>): Promise<{ data: ApiKey[]; next_cursor: string | null }> {
  const { status, json } = await client.call(keysOf(client, `?${new URLSearchParams(query).toString()}`));
  expect(status).toBe(200);
  return json;
}

/** The names of the keys found, in pages of `limit`. */
async function find(query: Readonly<Record<string, string>>, limit = 100): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await read({ ...query, limit: String(limit), ...(cursor !== null && { cursor }) });
    names.push(...page.data.map(({ name }) => name));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return names;
}

async function createNamed(...names: readonly string[]): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  for (const name of names) keys.push((await create(client, { name })).json.api_key);
  return keys;
}

/** Counts spending of the key in a window of the given scope: 2 is a day, 3 a month. */
async function spend({ id }: ApiKey, scope: 2 | 3, start: string, micro: number): Promise<void> {
  await gateway.rows(
    `INSERT INTO spend_window (organization_id, scope, scope_id, window_start, spent_micro)
     VALUES ($1, $2, $3, ${start}, $4)`,
    [client.organizationId, scope, id, micro],
  );
}

describe('the search for keys', () => {
  it('finds part of the name in any case, newest first, in pages', async () => {
    await createNamed('Staging', 'batch', 'pre-staging', 'STAGING 2');
    for (const limit of [1, 2, 100]) {
      expect(await find({ search: 'staGING' }, limit)).toEqual(['STAGING 2', 'pre-staging', 'Staging']);
    }
    expect(await find({ search: 'nothing' })).toEqual([]);
  });

  it('finds the last four characters, and the beginning of the id and of the shown ends', async () => {
    const [wanted, other] = await createNamed('wanted', 'other');
    await gateway.rows(`UPDATE api_key SET prefix = 'sk-llm-aBcD', last4 = 'wXyZ' WHERE id = $1`, [wanted?.id]);
    await gateway.rows(`UPDATE api_key SET prefix = 'sk-llm-0000', last4 = '1111' WHERE id = $1`, [other?.id]);
    const { id = '' } = wanted ?? {};
    const texts = ['SK-llm-a', 'sk-llm-aBcD…wXyZ', 'wxyz', id, id.slice(0, 18).toUpperCase()];
    for (const search of texts) expect([search, await find({ search })]).toEqual([search, ['wanted']]);
    // The time of the id, which both may have.
    expect(await find({ search: id.slice(0, 8) })).toContain('wanted');
    // Every key begins with `sk-llm-`.
    for (const search of ['sk-llm-', 's', 'llm-aBcD', 'XyZ', 'D…wXyZ', id.slice(0, 3), id.slice(-12)]) {
      expect([search, await find({ search })]).toEqual([search, []]);
    }
  });

  it('takes wildcards of patterns literally', async () => {
    await createNamed('100% of a_b', 'plain', String.raw`back\slash`);
    expect(await find({ search: '%' })).toEqual(['100% of a_b']);
    expect(await find({ search: '_' })).toEqual(['100% of a_b']);
    expect(await find({ search: 'p%n' })).toEqual([]);
    expect(await find({ search: '\\' })).toEqual([String.raw`back\slash`]);
    expect(await find({ search: "'" })).toEqual([]);
  });

  it('finds no key of another organization, also not by its id', async () => {
    const [own] = await createNamed('shared name');
    const stranger = await gateway.dashboardUser({ role: 'owner' });
    for (const search of ['shared', own?.id ?? '', own?.last4 ?? '']) {
      const { json } = await stranger.call(keysOf(stranger, `?search=${search}`));
      expect(json.data).toEqual([]);
    }
    expectError(await stranger.call(keysOf(client, '?search=shared')), 404, 'not_found');
  });

  it('applies together with state and kind', async () => {
    const [active, disabled, revoked] = await createNamed('ci 1', 'ci 2', 'ci 3');
    await createNamed('other');
    await act(client, disabled?.id ?? '', 'disable');
    await act(client, revoked?.id ?? '', 'revoke');
    await client.call(client.path('/playground-keys'), { method: 'POST' });
    expect(await find({ search: 'ci', revoked: 'false' })).toEqual(['ci 2', 'ci 1']);
    expect(await find({ search: 'ci', revoked: 'true' })).toEqual(['ci 3']);
    expect(await find({ search: 'ci', status: 'active' })).toEqual([active?.name]);
    expect(await find({ revoked: 'false' })).toEqual(['other', 'ci 2', 'ci 1']);
    expect(await find({ search: 'ci', kind: 'playground' })).toEqual([]);
    expect(await find({ search: 'playground', kind: 'playground' })).toHaveLength(1);
  });
});

describe('the order of keys', () => {
  it('is by name, in any case, and stays the same from page to page', async () => {
    await createNamed('b', 'C', 'a', 'B', 'x'.repeat(200), 'd');
    for (const limit of [1, 4, 100]) {
      const names = await find({ order: 'name' }, limit);
      expect(names.map((name) => name.toLowerCase())).toEqual(['a', 'b', 'b', 'c', 'd', 'x'.repeat(200)]);
      expect(new Set(names).size).toBe(6);
    }
    expect(await find({ order: 'name', search: 'b' }, 1)).toHaveLength(2);
  });

  it('is by the last day of use, then by age', async () => {
    const [first, second, third] = await createNamed('first', 'second', 'third', 'never');
    for (const key of [first, third]) await spend(key as ApiKey, 2, 'current_date - 2', 1);
    for (const day of ['current_date - 9', 'current_date - 1']) await spend(second as ApiKey, 2, day, 0);
    for (const limit of [1, 3, 100]) {
      expect(await find({ order: 'last_used' }, limit)).toEqual(['second', 'third', 'first', 'never']);
    }
  });

  it('is by the spending of this month, then by age', async () => {
    const [first, second, third] = await createNamed('first', 'second', 'third', 'nothing');
    const month = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";
    await spend(first as ApiKey, 3, month, 7);
    await spend(second as ApiKey, 3, month, 5_000_000_000_000);
    await spend(third as ApiKey, 3, month, 7);
    await spend(third as ApiKey, 3, `(${month} - interval '1 month')::date`, 9_000_000);
    for (const limit of [1, 3, 100]) {
      expect(await find({ order: 'month_spent' }, limit)).toEqual(['second', 'third', 'first', 'nothing']);
    }
  });

  it('refuses the cursor of an order with other keys, and shows nothing for an id of another organization', async () => {
    const [own] = await createNamed('a', 'b');
    const { next_cursor: newest } = await read({ limit: '1' });
    for (const order of ['name', 'last_used', 'month_spent']) {
      const reply = await client.call(keysOf(client, `?order=${order}&cursor=${newest}`));
      expectError(reply, 400, 'validation_failed', 'cursor');
    }
    const stranger = await gateway.dashboardUser({ role: 'owner' });
    await stranger.call(keysOf(stranger), { body: { name: 'z' } });
    const cursor = Buffer.from(own?.id ?? '').toString('base64url');
    const { json } = await stranger.call(keysOf(stranger, `?order=name&cursor=${cursor}`));
    expect(json.data).toEqual([]);
  });
});
