import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { MovedClock } from '../accounts/visitor';
import { act, ask, becomes, create, credit, expectError, get, keysOf, patch, type Json } from './key-actions';

const BUDGET_MICRO = 1_000_000;

const clock = new MovedClock();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await TestGateway.start(
    { PLAYGROUND_DAILY_BUDGET_MICRO: String(BUDGET_MICRO), SESSION_IDLE_MINUTES: '120' },
    clock,
  );
});

afterAll(() => gateway.stop());

describe('a playground key', () => {
  it('pays for its user under one API key per organization, with the configured daily budget', async () => {
    const user = await developer();
    const [first, second] = [await issue(user), await issue(user)];
    expect(second.api_key_id).toBe(first.api_key_id);
    expect(second.key).not.toBe(first.key);
    for (const { key } of [first, second]) expect((await ask(gateway, key)).status).toBe(200);
    const key = await get(user, first.api_key_id);
    expect(key).toMatchObject({
      kind: 'playground',
      name: `Playground: ${user.email}`,
      created_by: { user_id: user.userId, email: user.email },
      daily_budget_micro: BUDGET_MICRO,
    });
    expect(key.use.day_spent_micro).toBeGreaterThan(0);
  });

  it('is listed only on request, is not counted in max_api_keys and cannot be changed', async () => {
    const user = await developer();
    await gateway.rows('UPDATE organization SET max_api_keys = 1 WHERE id = $1', [user.organizationId]);
    const { api_key_id: id } = await issue(user);
    const standard = await create(user);
    const idsOf = async (query: string): Promise<string[]> =>
      (await user.call(keysOf(user, query))).json.data.map((key: Json) => key.id);
    expect(await idsOf('')).toEqual([standard.id]);
    expect(await idsOf('?kind=playground')).toEqual([id]);
    expectError(await patch(user, id, { daily_budget_micro: null }), 409, 'conflict');
    for (const action of ['disable', 'enable', 'rotate']) {
      expectError(await act(user, id, action, action === 'rotate' ? {} : undefined), 409, 'conflict');
    }
  });

  it('ends at once when its API key is revoked, after which a new one can be issued', async () => {
    const user = await developer();
    const { key, api_key_id: id } = await issue(user);
    expect((await ask(gateway, key)).status).toBe(200);
    expect((await act(user, id, 'revoke')).status).toBe(200);
    await becomes(gateway, '401 invalid_api_key', key);
    const next = await issue(user);
    expect([next.api_key_id, (await ask(gateway, next.key)).status]).toEqual([id, 200]);
  });

  it('works for an hour', async () => {
    const user = await developer();
    const { key, expires_at: expiresAt } = await issue(user);
    expect(new Date(expiresAt).getTime() - clock.now()).toBeLessThanOrEqual(3_600_000);
    clock.moveMinutes(59);
    expect((await ask(gateway, key)).status).toBe(200);
    clock.moveMinutes(1);
    expectError(await ask(gateway, key), 401, 'key_expired');
  });

  it('ends at once with its session', async () => {
    const user = await developer();
    const { key } = await issue(user);
    expect((await ask(gateway, key)).status).toBe(200);
    await user.call('/dashboard/api/logout', { method: 'POST' });
    expectError(await ask(gateway, key), 401, 'invalid_api_key');
  });

  it.each([
    ['becomes a viewer', `UPDATE organization_member SET role = 'viewer' WHERE user_id = $1`],
    ['is removed', 'DELETE FROM organization_member WHERE user_id = $1'],
  ])('ends at once when its user %s', async (_change, statement) => {
    const user = await developer();
    const { key } = await issue(user);
    expect((await ask(gateway, key)).status).toBe(200);
    await gateway.rows(statement, [user.userId]);
    expectError(await ask(gateway, key), 401, 'invalid_api_key');
  });

  it('ends when its user asks for a fourth, oldest first', async () => {
    const user = await developer();
    const keys: string[] = [];
    for (let count = 0; count < 4; count++) {
      keys.push((await issue(user)).key);
      clock.moveMinutes(1);
    }
    const statuses: number[] = [];
    for (const key of keys) statuses.push((await ask(gateway, key)).status);
    expect(statuses).toEqual([401, 200, 200, 200]);
  });

  it('is refused while the organization is suspended, and needs a developer', async () => {
    const user = await developer();
    await gateway.rows(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [user.organizationId]);
    const path = user.path('/playground-keys');
    expectError(await user.call(path, { method: 'POST' }), 409, 'conflict');
    const viewer = await gateway.dashboardUser({ role: 'viewer' });
    expectError(await viewer.call(viewer.path('/playground-keys'), { method: 'POST' }), 403, 'forbidden');
  });
});

describe('the creator of an API key', () => {
  it('is named by e-mail while a member of the organization', async () => {
    const author = await developer();
    const { id } = await create(author);
    const reader = await gateway.dashboardUser({ role: 'viewer', organizationId: author.organizationId });
    expect((await get(reader, id)).created_by).toEqual({ user_id: author.userId, email: author.email });
    await gateway.rows('DELETE FROM organization_member WHERE user_id = $1', [author.userId]);
    expect((await get(reader, id)).created_by).toEqual({ user_id: author.userId, email: null });
  });
});

async function developer(): Promise<DashboardClient> {
  const user = await gateway.dashboardUser({ role: 'developer' });
  await credit(gateway, user);
  return user;
}

async function issue(user: DashboardClient): Promise<Json> {
  const { status, json } = await user.call(user.path('/playground-keys'), { method: 'POST' });
  expect(status).toBe(201);
  return json;
}
