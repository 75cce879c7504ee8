import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { act, ask, becomes, create, credit, expectError, get, keysOf, patch } from './key-actions';

const HOUR_MS = 3_600_000;

let gateway: TestGateway;
let developer: DashboardClient;

beforeAll(async () => {
  gateway = await TestGateway.start();
  developer = await gateway.dashboardUser({ role: 'developer' });
});

afterAll(() => gateway.stop());

describe('a key', () => {
  it('is shown once on creation and is not stored in clear text', async () => {
    const { id, key, json } = await create(developer, { name: ' ci ', allowed_ips: ['10.1.2.3/8'] });
    expect(json.api_key).toMatchObject({
      name: 'ci',
      status: 'active',
      prefix: key.slice(0, 11),
      last4: key.slice(-4),
      allowed_ips: ['10.0.0.0/8'],
      last_used_on: null,
    });
    expect(await get(developer, id)).toEqual(json.api_key);
    const [row] = await gateway.rows<{ digest: Buffer }>('SELECT digest FROM api_key WHERE id = $1', [id]);
    const digest = row?.digest as Buffer;
    const owner = await gateway.dashboardUser({ role: 'owner', organizationId: developer.organizationId });
    const replies = await Promise.all([
      developer.call(keysOf(developer)),
      act(developer, id, 'disable'),
      owner.call(owner.path('/audit-log')),
    ]);
    for (const { text } of replies) {
      expect(text).toContain(id);
      for (const secret of [key, key.slice(11, -4), digest.toString('hex'), digest.toString('base64')]) {
        expect(text).not.toContain(secret);
      }
    }
  });

  it('stores every setting, and changes or removes each separately', async () => {
    const settings = {
      name: 'production',
      expires_at: '2100-01-01T00:00:00.000Z',
      allowed_ips: ['10.0.0.0/8', '2001:db8::/32'],
      allowed_models: ['mock/chat-1', 'openai/*'],
      allowed_modalities: ['text'],
      requests_per_second: 1,
      requests_per_minute: 2,
      tokens_per_minute: 3,
      concurrency: 4,
      daily_budget_micro: 5,
      monthly_budget_micro: Number.MAX_SAFE_INTEGER,
    };
    const changed = {
      name: 'staging',
      expires_at: '2101-01-01T00:00:00.000Z',
      allowed_ips: ['::1/128'],
      allowed_models: ['mock/*'],
      allowed_modalities: ['video'],
      requests_per_second: 11,
      requests_per_minute: 12,
      tokens_per_minute: 13,
      concurrency: 14,
      daily_budget_micro: 0,
      monthly_budget_micro: 16,
    };
    const { id, json } = await create(developer, settings);
    expect(json.api_key).toMatchObject(settings);
    let expected: Record<string, unknown> = json.api_key;
    for (const [name, value] of Object.entries(changed)) {
      expected = { ...expected, [name]: value };
      expect((await patch(developer, id, { [name]: value })).json).toEqual(expected);
    }
    for (const name of Object.keys(changed)) {
      expected = { ...expected, [name]: name === 'name' ? 'default' : null };
      expect((await patch(developer, id, { [name]: null })).json).toEqual(expected);
    }
    expect((await patch(developer, id, {})).json).toEqual(expected);
    expect(await get(developer, id)).toEqual(expected);
  });

  it.each<[string, object]>([
    ['unknown', { unknown: 1 }],
    ['name', { name: '' }],
    ['name', { name: ' ' }],
    ['name', { name: 'a\u0000' }],
    ['name', { name: '\ud800' }],
    ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: '2030-02-30T00:00:00Z' }],
    ['expires_at', { expires_at: '2030-01-01T99:00:00Z' }],
    ['expires_at', { expires_at: '9999-12-31T23:59:59-00:01' }],
    ['expires_at', { expires_at: 1_893_456_000 }],
    ['allowed_ips', { allowed_ips: [] }],
    ['allowed_ips[1]', { allowed_ips: ['::1', 'example.com'] }],
    ['allowed_models[0]', { allowed_models: ['*'] }],
    ['allowed_modalities[0]', { allowed_modalities: ['smell'] }],
    ['requests_per_second', { requests_per_second: 0 }],
    ['requests_per_minute', { requests_per_minute: 1.5 }],
    ['tokens_per_minute', { tokens_per_minute: 2 ** 31 }],
    ['concurrency', { concurrency: '1' }],
    ['daily_budget_micro', { daily_budget_micro: -1 }],
    ['monthly_budget_micro', { monthly_budget_micro: 1e300 }],
  ])('is neither created nor changed with an invalid %s: %j', async (param, body) => {
    const { id } = await create(developer);
    const before = await get(developer, id);
    expectError(await developer.call(keysOf(developer), { body }), 400, 'validation_failed', param);
    expectError(await patch(developer, id, body), 400, 'validation_failed', param);
    expect(await get(developer, id)).toEqual(before);
  });

  it('is refused while disabled and permanently once revoked, from the next request on', async () => {
    await credit(gateway, developer);
    const { id, key } = await create(developer);
    await becomes(gateway, '200', key);
    expect((await act(developer, id, 'disable')).json.status).toBe('disabled');
    await becomes(gateway, '401 key_disabled', key);
    expect((await act(developer, id, 'enable')).json.status).toBe('active');
    await becomes(gateway, '200', key);
    const revoked = (await act(developer, id, 'revoke')).json;
    expect(revoked).toMatchObject({ status: 'revoked', replaced_by: null, revoked_at: expect.any(String) });
    await becomes(gateway, '401 key_revoked', key);
    expect((await act(developer, id, 'revoke')).json).toEqual(revoked);
    for (const reply of [
      await act(developer, id, 'enable'),
      await act(developer, id, 'disable'),
      await act(developer, id, 'rotate', {}),
    ]) {
      expectError(reply, 409, 'conflict');
    }
    expectError(await patch(developer, id, { name: 'again' }), 409, 'conflict');
    expect(await gateway.violations()).toEqual([]);
  });

  it('applies new restrictions and budgets from the next request on', async () => {
    await credit(gateway, developer);
    const { id, key } = await create(developer);
    await becomes(gateway, '200', key);
    await patch(developer, id, { allowed_models: ['other/*'] });
    await becomes(gateway, '403 model_not_allowed', key);
    await patch(developer, id, { allowed_models: null, allowed_modalities: ['video'] });
    await becomes(gateway, '403 modality_not_allowed', key);
    await patch(developer, id, { allowed_modalities: null, allowed_ips: ['203.0.113.7'] });
    await becomes(gateway, '403 ip_not_allowed', key);
    await patch(developer, id, { allowed_ips: null, daily_budget_micro: 0 });
    await becomes(gateway, '402 budget_exceeded', key);
    await patch(developer, id, { daily_budget_micro: null, tokens_per_minute: 1 });
    await becomes(gateway, '429 tokens_per_minute_exceeded', key);
    await patch(developer, id, { tokens_per_minute: null });
    await becomes(gateway, '200', key);
  });

  it('keeps its settings on rotation; the old key works in its grace period until it is revoked', async () => {
    await credit(gateway, developer);
    const old = await create(developer, { name: 'rotated', concurrency: 7 });
    const { json, status } = await act(developer, old.id, 'rotate', { grace_seconds: 60 });
    expect(status).toBe(200);
    expect(json.api_key).toMatchObject({ name: 'rotated', concurrency: 7, status: 'active', replaced_by: null });
    expect(json.replaced).toMatchObject({ id: old.id, status: 'active', replaced_by: json.api_key.id });
    expect(new Date(json.replaced.revoked_at).getTime()).toBeGreaterThan(Date.now() + 50_000);
    await becomes(gateway, '200', old.key);
    await becomes(gateway, '200', json.key);
    expectError(await act(developer, old.id, 'rotate', {}), 409, 'conflict');
    await act(developer, old.id, 'revoke');
    await becomes(gateway, '401 key_revoked', old.key);
    const next = (await act(developer, json.api_key.id, 'rotate', {})).json;
    expect(next.replaced.status).toBe('revoked');
    await becomes(gateway, '401 key_revoked', json.key);
    await becomes(gateway, '200', next.key);
  });

  it.each([-1, 0.5, 2_592_001, '60'])('refuses a grace period of %j seconds', async (grace) => {
    const { id } = await create(developer);
    expectError(
      await act(developer, id, 'rotate', { grace_seconds: grace }),
      400,
      'validation_failed',
      'grace_seconds',
    );
  });

  it('shows spending and holds of its budgets and the time of its last use', async () => {
    await credit(gateway, developer);
    const { id, key } = await create(developer, { daily_budget_micro: 5_000_000 });
    const reply = await ask(gateway, key);
    const costMicro = reply.json.usage.x_llm_cost_micro;
    expect(costMicro).toBeGreaterThan(0);
    const today = new Date().toISOString().slice(0, 10);
    expect(await get(developer, id)).toMatchObject({
      last_used_on: today,
      use: { day_spent_micro: costMicro, day_held_micro: 0, month_spent_micro: costMicro, month_held_micro: 0 },
    });
  });

  it('of another organization or with an unknown id is not_found for every operation', async () => {
    const outsider = await gateway.dashboardUser({ role: 'owner' });
    const { id } = await create(developer);
    const bodies = new Set<string>();
    for (const unknown of [id, randomUUID(), 'no-uuid', `${id}%00`]) {
      const path = keysOf(outsider, `/${unknown}`);
      const replies = [
        await outsider.call(path),
        await outsider.call(path, { method: 'PATCH', body: { name: 'mine' } }),
        await outsider.call(`${path}/rotate`, { body: {} }),
        ...(await Promise.all(
          ['disable', 'enable', 'revoke'].map((action) => outsider.call(`${path}/${action}`, { method: 'POST' })),
        )),
      ];
      for (const reply of replies) {
        expectError(reply, 404, 'not_found');
        bodies.add(JSON.stringify({ ...reply.json.error, request_id: null }));
      }
    }
    expect(bodies.size).toBe(1);
    expect((await get(developer, id)).status).toBe('active');
  });

  it('that has expired has the status expired and cannot be rotated until its expiry is extended', async () => {
    const { id } = await create(developer, { expires_at: new Date(Date.now() + HOUR_MS).toISOString() });
    await gateway.rows(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    expect((await get(developer, id)).status).toBe('expired');
    expectError(await act(developer, id, 'rotate', {}), 409, 'conflict');
    expect((await patch(developer, id, { expires_at: null })).json.status).toBe('active');
  });
});
