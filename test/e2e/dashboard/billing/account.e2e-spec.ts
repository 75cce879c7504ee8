import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway, type TestCustomer } from '../../../harness/gateway';

let gateway: TestGateway;
let client: DashboardClient;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start({ PAYMENT_PROVIDER: 'test' });
});
beforeEach(async () => {
  customer = await gateway.customer();
  client = await gateway.dashboardUser({ organizationId: customer.organizationId });
});
afterAll(() => gateway.stop());

async function chat(): Promise<string> {
  const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: '[[mock: delay=0]] Hello' }] };
  const reply = await gateway.call('/v1/chat/completions', { key: customer.key, body });
  return reply.headers.get('x-request-id') as string;
}

/** Charges without requests: the ledger is what is read here. */
async function addEntries(count: number, at = 'now()'): Promise<void> {
  await gateway.rows(
    `INSERT INTO ledger_entry (organization_id, kind, debit_account, credit_account, amount_micro,
                               organization_delta_micro, external_reference, created_at)
     SELECT $1, 'adjust', 'adjustment', 'organization', n, n, 'entry ' || n, ${at} FROM generate_series(1, $2::integer) n`,
    [client.organizationId, count],
  );
}

describe('getBalance', () => {
  it('tells what there is, what is spent, and what can be bought', async () => {
    await chat();
    const { json } = await client.call(client.path('/billing/balance'));
    expect(json).toMatchObject({ monthly_limit_micro: null, low_balance_threshold_micro: null, reserved_micro: 0 });
    expect(json.month_spent_micro).toBeGreaterThan(0);
    expect(json.balance_micro).toBe(10_000_000 - json.month_spent_micro);
    expect(json.available_micro).toBe(json.balance_micro);
    expect(json.purchases).toEqual({
      enabled: true,
      day_limit_micro: 500_000_000,
      day_left_micro: 500_000_000,
      month_limit_micro: 5_000_000_000,
      month_left_micro: 5_000_000_000,
    });
  });
});

describe('updateBillingSettings', () => {
  const update = (body: object) => client.call(client.path('/billing/settings'), { method: 'PATCH', body });

  it('sets what is named, removes what is null, and leaves the rest', async () => {
    expect((await update({ monthly_limit_micro: 5, low_balance_threshold_micro: 7 })).json).toEqual({
      object: 'billing_settings',
      monthly_limit_micro: 5,
      low_balance_threshold_micro: 7,
    });
    expect((await update({ monthly_limit_micro: null })).json).toMatchObject({
      monthly_limit_micro: null,
      low_balance_threshold_micro: 7,
    });
    const entries = await gateway.rows(
      `SELECT before, after FROM audit_entry WHERE organization_id = $1 AND action = 'billing_settings.updated' ORDER BY id`,
      [client.organizationId],
    );
    expect(entries).toEqual([
      {
        before: { monthly_limit_micro: null, low_balance_threshold_micro: null },
        after: { monthly_limit_micro: 5, low_balance_threshold_micro: 7 },
      },
      { before: { monthly_limit_micro: 5 }, after: { monthly_limit_micro: null } },
    ]);
  });

  it('holds requests to the limit at once', async () => {
    await update({ monthly_limit_micro: 0 });
    const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
    const refused = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect(refused.json.error.code).toBe('spending_limit_exceeded');
  });

  it.each([
    [{ monthly_limit_micro: -1 }, 'monthly_limit_micro'],
    [{ monthly_limit_micro: 2 ** 53 }, 'monthly_limit_micro'],
    [{ low_balance_threshold_micro: 0 }, 'low_balance_threshold_micro'],
    [{ purchase_limit_day_micro: 1 }, 'purchase_limit_day_micro'],
  ])('refuses %j with the name of what is wrong', async (body, param) => {
    expect(await update(body)).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });
});

describe('listHolds', () => {
  it('gives what is held for requests and jobs, newest first, page by page', async () => {
    await gateway.rows(
      `INSERT INTO reservation (id, organization_id, key_id, amount_micro, day, month, owner, expires_at, created_at)
       SELECT gen_random_uuid(), $1, $2, 0, now(), now(), CASE n WHEN 1 THEN 'media_job' ELSE 'nobody' END,
              now() + interval '1 hour', now() - n * interval '1 microsecond' FROM generate_series(1, 3) n`,
      [customer.organizationId, customer.keyId],
    );
    const first = await client.call(client.path('/billing/holds?limit=2'));
    expect(first.json.data).toHaveLength(2);
    expect(first.json.data[0]).toMatchObject({ key_id: customer.keyId, amount_micro: 0, job_id: expect.any(String) });
    expect(first.json.data[1].job_id).toBeNull();
    const rest = await client.call(client.path(`/billing/holds?cursor=${first.json.next_cursor}`));
    expect(rest.json).toMatchObject({ data: [{ job_id: null }], next_cursor: null });
    await gateway.rows(
      `UPDATE reservation SET state = 'released', ended_at = now() WHERE organization_id = $1 AND state = 'held'`,
      [customer.organizationId],
    );
  });
});

describe('listLedgerEntries', () => {
  it('gives charges with their requests and everything else with its reference', async () => {
    const requestId = await chat();
    const { json } = await client.call(client.path('/billing/ledger'));
    expect(json.data).toEqual([
      expect.objectContaining({ kind: 'charge', request_id: requestId, job_id: null, key_id: customer.keyId }),
      expect.objectContaining({ kind: 'topup', amount_micro: 10_000_000, reference: 'initial', request_id: null }),
    ]);
    expect(json.data[0].amount_micro).toBeLessThan(0);
  });

  it('gives every entry once, newest first, also those of one microsecond', async () => {
    await addEntries(7);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const path: string = `/billing/ledger?kind=adjust&limit=3${cursor && `&cursor=${cursor}`}`;
      const { json } = await client.call(client.path(path));
      seen.push(...json.data.map((entry: { reference: string }) => entry.reference));
      cursor = json.next_cursor;
    }
    expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1].map((number) => `entry ${number}`));
  });

  it('gives what lies between two times', async () => {
    await addEntries(1, `'2025-06-01T00:00:00Z'`);
    const between = async (from: string, to: string) =>
      (await client.call(client.path(`/billing/ledger?from=${from}&to=${to}`))).json.data.length;
    expect(await between('2025-06-01', '2025-06-02')).toBe(1);
    expect(await between('2025-05-31', '2025-06-01')).toBe(0);
    expect(await between('2025-06-01T00:00:00.001Z', '2025-06-02')).toBe(0);
  });

  it.each([
    ['kind=gift', 'kind'],
    ['from=yesterday', 'from'],
    ['cursor=AAAA', 'cursor'],
    ['limit=0', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['page=2', 'page'],
  ])('refuses ?%s with the name of what is wrong', async (query, param) => {
    const reply = await client.call(client.path(`/billing/ledger?${query}`));
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });

  it('shows another organization nothing', async () => {
    const other = await gateway.dashboardUser();
    expect((await other.call(other.path('/billing/ledger'))).json.data).toEqual([]);
    const path = other.path('/billing/ledger').replace(other.organizationId, customer.organizationId);
    expect((await other.call(path)).status).toBe(404);
  });
});

describe('exportLedger', () => {
  it('gives the whole ledger with a line of names, more than one page of it', async () => {
    await addEntries(2_500);
    const reply = await client.call(client.path('/billing/ledger.csv'));
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const lines = reply.text.split('\r\n');
    expect(lines[0]).toBe('id,created_at,kind,amount_micro,request_id,job_id,key_id,reference');
    expect(lines).toHaveLength(1 + 2_500 + 1 + 1);
    expect(lines[1]).toMatch(/^\d+,\d{4}-\d\d-\d\dT[\d:.]{15}Z,adjust,2500,,,,entry 2500$/);
    expect(lines.at(-2)).toContain(',topup,10000000,,,,initial');
    expect(lines.at(-1)).toBe('');
    expect((await client.call(client.path('/billing/ledger.csv?kind=topup'))).text.split('\r\n')).toHaveLength(3);
  });

  it('breaks the connection off when the database fails on the way, instead of ending the file', async () => {
    await addEntries(60_000);
    const request = get(`${gateway.url}${client.path('/billing/ledger.csv')}`, { headers: { cookie: client.cookie } });
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    expect(reply.statusCode).toBe(200);
    await gateway.rows('ALTER TABLE ledger_entry RENAME TO ledger_entry_away');
    try {
      const ending = await new Promise<string>((resolve) => {
        reply.on('end', () => resolve('end')).on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`));
        reply.resume();
      });
      expect(ending).toBe('ECONNRESET');
    } finally {
      await gateway.rows('ALTER TABLE ledger_entry_away RENAME TO ledger_entry');
    }
  });
});

describe('the test provider', () => {
  const page = async () => {
    const bought = await client.call(client.path('/billing/purchases'), { body: { amount_micro: 1_230_000 } });
    return { id: bought.json.id as string, path: new URL(bought.json.checkout_url).pathname };
  };
  const pay = (path: string) => gateway.call(path, { method: 'POST', headers: { 'x-requested-with': 'test' } });

  it('takes a payment on a page of the gateway and credits it like any other', async () => {
    const { id, path } = await page();
    const shown = await gateway.call(path);
    expect(shown.text).toContain('1.23 USD');
    expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
    const paid = await pay(path);
    expect(paid.json).toMatchObject({ id, status: 'paid', provider: 'test' });
    expect((await client.call(client.path('/billing/balance'))).json.balance_micro).toBe(11_230_000);
    expect((await pay(path)).json.error.code).toBe('conflict');
    expect((await client.call(client.path('/billing/ledger?kind=topup'))).json.data[0].reference).toMatch(/^test:/);
  });

  it('takes nothing from a page of somebody else', async () => {
    const { path } = await page();
    expect((await gateway.call(path, { method: 'POST' })).json.error.code).toBe('csrf_failed');
  });

  it('knows no page of what is no purchase', async () => {
    expect((await gateway.call('/dashboard/api/payments/test/none')).json.error.code).toBe('not_found');
    expect((await pay(`/dashboard/api/payments/test/${customer.organizationId}`)).json.error.code).toBe('not_found');
  });

  it('does not hear of events for Stripe', async () => {
    const reply = await gateway.call('/dashboard/api/payments/stripe/events', { body: {} });
    expect(reply).toMatchObject({ status: 501, json: { error: { code: 'not_configured' } } });
  });
});
