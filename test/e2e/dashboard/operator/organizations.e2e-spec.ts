import { randomUUID } from 'node:crypto';
import { TestGateway } from '../../../harness/gateway';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { OPERATOR } from './operator-stage';

describe('operators and organizations', () => {
  let gateway: TestGateway;
  let operator: DashboardClient;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    operator = await gateway.dashboardUser({ operator: true });
  });
  afterAll(() => gateway.stop());

  const pathOf = (id: string, below = ''): string => `${OPERATOR}/organizations/${id}${below}`;
  const ask = (key: string) =>
    gateway.call('/v1/chat/completions', {
      key,
      body: { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }] },
    });

  it('lists organizations in pages, newest first, by part of the name and by status', async () => {
    const word = randomUUID();
    const owner = await gateway.dashboardUser();
    const names = [`${word} one`, `${word} TWO`, `${word} three`];
    const ids: string[] = [];
    for (const name of names) {
      ids.push((await owner.call('/dashboard/api/organizations', { body: { name } })).json.id as string);
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = `?search=${word.toUpperCase()}&limit=2${cursor === null ? '' : `&cursor=${cursor}`}`;
      const { json } = await operator.call(`${OPERATOR}/organizations${query}`);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(ids.toReversed());
    await operator.call(pathOf(ids[1] as string, '/suspend'), { body: { reason: 'unpaid' } });
    const { json: suspended } = await operator.call(`${OPERATOR}/organizations?search=${word}&status=suspended`);
    expect(suspended.data.map(({ name }: { name: string }) => name)).toEqual([names[1]]);
    const { json: wildcard } = await operator.call(`${OPERATOR}/organizations?search=${word}%25`);
    expect(wildcard.data).toEqual([]);
  });

  it('refuses requests of a suspended organization at once and records the reason in the audit log', async () => {
    const customer = await gateway.customer();
    const change = (what: string) =>
      operator.call(pathOf(customer.organizationId, `/${what}`), { body: { reason: `reason to ${what}` } });
    expect((await ask(customer.key)).status).toBe(200);
    expect((await change('suspend')).json).toMatchObject({ status: 'suspended', counts: { members: 0, keys: 1 } });
    expect(await ask(customer.key)).toMatchObject({ status: 403, json: { error: { code: 'ip_not_allowed' } } });
    expect((await change('activate')).json.status).toBe('active');
    expect((await ask(customer.key)).status).toBe(200);
    const entries = await gateway.rows(
      `SELECT actor_kind, actor_user_id, action, after FROM audit_entry
        WHERE organization_id = $1 AND actor_kind = 'operator' ORDER BY id`,
      [customer.organizationId],
    );
    const by = { actor_kind: 'operator', actor_user_id: operator.userId };
    expect(entries).toEqual([
      { ...by, action: 'organization.suspended', after: { status: 'suspended', reason: 'reason to suspend' } },
      { ...by, action: 'organization.activated', after: { status: 'active', reason: 'reason to activate' } },
    ]);
  });

  it('sets and removes each limit separately', async () => {
    const { organizationId } = await gateway.customer();
    const patch = async (body: object) => (await operator.call(pathOf(organizationId), { method: 'PATCH', body })).json;
    expect(await patch({ requests_per_second: 5, purchase_limit_day_micro: 7, monthly_limit_micro: 9 })).toMatchObject({
      requests_per_second: 5,
      requests_per_minute: null,
      purchase_limit_day_micro: 7,
      purchase_limit_month_micro: null,
      monthly_limit_micro: 9,
    });
    expect(await patch({ requests_per_second: null, purchase_limit_month_micro: 11, max_api_keys: 5 })).toMatchObject({
      requests_per_second: null,
      purchase_limit_day_micro: 7,
      purchase_limit_month_micro: 11,
      monthly_limit_micro: 9,
      max_api_keys: 5,
    });
    expect(await patch({ purchase_limit_day_micro: null, monthly_limit_micro: null })).toMatchObject({
      purchase_limit_day_micro: null,
      purchase_limit_month_micro: 11,
      monthly_limit_micro: null,
      max_api_keys: 5,
    });
  });

  it('sets limits while the organization changes its billing settings', async () => {
    const owner = await gateway.dashboardUser();
    const path = owner.path('/billing/settings');
    const change = { monthly_limit_micro: 5, low_balance_threshold_micro: 5 };
    expect((await owner.call(path, { method: 'PATCH', body: change })).status).toBe(200);
    const lock = await gateway.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [owner.organizationId]);
    const limits = { monthly_limit_micro: 9, purchase_limit_day_micro: 9 };
    const byOperator = operator.call(pathOf(owner.organizationId), { method: 'PATCH', body: limits });
    await gateway.untilLockWaits(1);
    const byOwner = owner.call(path, { method: 'PATCH', body: { monthly_limit_micro: 7 } });
    await gateway.untilLockWaits(2);
    await lock.query('ROLLBACK');
    lock.release();
    expect((await Promise.all([byOperator, byOwner])).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('applies a limit to the next request', async () => {
    const { organizationId, key } = await gateway.customer();
    await operator.call(pathOf(organizationId), { method: 'PATCH', body: { monthly_limit_micro: 0 } });
    expect(await ask(key)).toMatchObject({ status: 402, json: { error: { code: 'spending_limit_exceeded' } } });
  });

  it('books an adjustment once per reference, under concurrency', async () => {
    const { organizationId } = await gateway.customer({}, 1_000_000n);
    const adjust = (amount_micro: number, reference: string) =>
      operator.call(pathOf(organizationId, '/adjustments'), { body: { amount_micro, reference, reason: 'goodwill' } });
    const replies = await Promise.all(Array.from({ length: 10 }, () => adjust(500, 'ticket-1')));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(replies.filter(({ json }) => json.applied)).toHaveLength(1);
    expect(replies.map(({ json }) => json.balance_micro)).toEqual(Array(10).fill(1_000_500));
    expect((await adjust(-1_000_500, 'ticket-2')).json).toMatchObject({ applied: true, balance_micro: 0 });
    const [entry] = await gateway.rows<{ before: object; after: object }>(
      `SELECT before, after FROM audit_entry WHERE organization_id = $1 AND after->>'reference' = 'ticket-2'`,
      [organizationId],
    );
    expect(entry).toEqual({
      before: { balance_micro: 1_000_500 },
      after: { balance_micro: 0, amount_micro: -1_000_500, applied: true, reference: 'ticket-2', reason: 'goodwill' },
    });
    expect(await gateway.violations()).toEqual([]);
  });

  it.each([
    ['more than is free', -1_000_001, 'other', 402, 'insufficient_credits', undefined],
    ['under a reference of payments', 1, 'stripe:pi_1', 400, 'validation_failed', 'reference'],
    ['under a reference that breaks a line', 1, 'a\nb', 400, 'validation_failed', 'reference'],
    ['nothing', 0, 'other', 400, 'validation_failed', 'amount_micro'],
    ['more than JSON can hold', Number.MAX_SAFE_INTEGER, 'other', 400, 'validation_failed', 'amount_micro'],
    ['another amount for a known reference', 2, 'known', 409, 'conflict', undefined],
  ])('neither books nor records %s', async (_name, amount_micro, reference, status, code, param) => {
    const { organizationId } = await gateway.customer({}, 999_999n);
    const adjust = (body: object) => operator.call(pathOf(organizationId, '/adjustments'), { body });
    await adjust({ amount_micro: 1, reference: 'known', reason: 'first' });
    const reply = await adjust({ amount_micro, reference, reason: 'second' });
    expect(reply).toMatchObject({ status, json: { error: { code } } });
    expect(reply.json.error.param).toBe(param);
    const recorded = await gateway.rows(
      `SELECT 1 FROM audit_entry WHERE organization_id = $1 AND action = 'balance.adjusted'`,
      [organizationId],
    );
    expect(recorded).toHaveLength(1);
    const { json } = await operator.call(pathOf(organizationId));
    expect(json.balance_micro).toBe(1_000_000);
  });

  it('shows a balance above the largest safe integer as that integer and allows its adjustment', async () => {
    const customer = await gateway.customer();
    const owner = await gateway.dashboardUser({ organizationId: customer.organizationId });
    // Booked before balances had an upper bound.
    await gateway.rows(`ALTER TABLE organization_account DISABLE TRIGGER organization_account_stays_exact`);
    await gateway.rows(
      `WITH raised AS (
         UPDATE organization_account SET balance_micro = balance_micro + $2 WHERE organization_id = $1
         RETURNING balance_micro)
       INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro,
                                   organization_delta_micro, balance_after_micro, external_reference)
       SELECT $1, 'topup', 'cash', 'organization', $2, $2, balance_micro, 'too much' FROM raised`,
      [customer.organizationId, String(2n ** 53n)],
    );
    await gateway.rows(`ALTER TABLE organization_account ENABLE TRIGGER organization_account_stays_exact`);
    const shown = { balance_micro: Number.MAX_SAFE_INTEGER };
    const { json: list } = await operator.call(`${OPERATOR}/organizations`);
    expect(list.data).toContainEqual(expect.objectContaining({ id: customer.organizationId, ...shown }));
    expect((await owner.call(owner.path('/billing/balance'))).json).toMatchObject(shown);
    expect((await ask(customer.key)).status).toBe(200);
    const body = { amount_micro: Number.MIN_SAFE_INTEGER, reference: 'correction', reason: 'a slip' };
    const corrected = await operator.call(pathOf(customer.organizationId, '/adjustments'), { body });
    expect(corrected).toMatchObject({ status: 200, json: { applied: true } });
    expect(corrected.json.balance_micro).toBeLessThan(20_000_000);
    expect(await gateway.violations()).toEqual([]);
  });

  it('returns the same 404 for malformed and unknown ids', async () => {
    const paths = [randomUUID(), 'no-id', '%00'].map((id) => pathOf(id));
    const bodies = await Promise.all(paths.map(async (path) => (await operator.call(path)).json.error));
    for (const error of bodies) expect(error).toEqual({ ...bodies[0], request_id: error.request_id });
    expect(bodies[0]).toMatchObject({ code: 'not_found' });
    const adjustment = { amount_micro: 1, reason: 'r', reference: 'r' };
    const reply = await operator.call(pathOf(randomUUID(), '/adjustments'), { body: adjustment });
    expect(reply.json.error.code).toBe('not_found');
  });
});

describe('operators and users', () => {
  let gateway: TestGateway;
  let operator: DashboardClient;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    operator = await gateway.dashboardUser({ operator: true });
  });
  afterAll(() => gateway.stop());

  it('finds users by part of their e-mail, in pages', async () => {
    const user = await gateway.dashboardUser();
    const { json } = await operator.call(`${OPERATOR}/users?search=${user.email.slice(0, 30).toUpperCase()}`);
    expect(json.data).toEqual([expect.objectContaining({ id: user.userId, status: 'active', organizations: 1 })]);
    await operator.call(`${OPERATOR}/users/${user.userId}/disable`, { method: 'POST' });
    for (const [status, found] of [
      ['disabled', [user.userId]],
      ['active', []],
    ] as const) {
      const query = `?search=${user.email}&status=${status}`;
      const { data }: { data: { id: string }[] } = (await operator.call(`${OPERATOR}/users${query}`)).json;
      expect(data.map(({ id }) => id)).toEqual(found);
    }
    const first = (await operator.call(`${OPERATOR}/users?limit=1`)).json;
    const second = (await operator.call(`${OPERATOR}/users?limit=1&cursor=${first.next_cursor}`)).json;
    expect(first.data[0].id).toBe(user.userId);
    expect(second.data[0].id).not.toBe(user.userId);
  });

  it('ends the sessions of a disabled user, who can sign in again once enabled', async () => {
    const user = await gateway.dashboardUser();
    const path = user.path('');
    expect((await user.call(path)).status).toBe(200);
    const disabled = await operator.call(`${OPERATOR}/users/${user.userId}/disable`, { method: 'POST' });
    expect(disabled.json).toMatchObject({ id: user.userId, status: 'disabled' });
    expect((await user.call(path)).status).toBe(401);
    const enabled = await operator.call(`${OPERATOR}/users/${user.userId}/enable`, { method: 'POST' });
    expect(enabled.json.status).toBe('active');
    expect((await user.call(path)).status).toBe(401);
  });

  it('refuses to disable the own account with conflict', async () => {
    const reply = await operator.call(`${OPERATOR}/users/${operator.userId}/disable`, { method: 'POST' });
    expect(reply).toMatchObject({ status: 409, json: { error: { code: 'conflict' } } });
    expect((await operator.call(`${OPERATOR}/users`)).status).toBe(200);
  });

  it('returns 404 for a malformed user id', async () => {
    for (const id of [randomUUID(), 'x']) {
      const reply = await operator.call(`${OPERATOR}/users/${id}/disable`, { method: 'POST' });
      expect(reply.json.error).toMatchObject({ code: 'not_found', message: 'There is no such user.' });
    }
  });
});
