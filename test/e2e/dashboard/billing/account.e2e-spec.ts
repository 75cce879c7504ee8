import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { LedgerEntry } from '../../../../src/contract/dashboard';
import { withArchivedDay } from '../../../harness/archived-day';
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

/** Charges without requests, because these tests only read the ledger. */
async function addEntries(count: number, at = 'now()'): Promise<void> {
  await gateway.rows(
    `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro,
                                 organization_delta_micro, external_reference, created_at)
     SELECT $1, 'adjust', 'adjustment', 'organization', n, n, 'entry ' || n, ${at} FROM generate_series(1, $2::integer) n`,
    [client.organizationId, count],
  );
}

describe('getBalance', () => {
  it('returns balance, spending and purchase limits', async () => {
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

  it('sets given fields, removes null ones and keeps the rest', async () => {
    expect((await update({ monthly_limit_micro: 5, low_balance_threshold_micro: 7 })).json).toEqual({
      object: 'billing_settings',
      monthly_limit_micro: 5,
      operator_monthly_limit_micro: null,
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

  it('applies the new limit to the next request', async () => {
    await update({ monthly_limit_micro: 0 });
    const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
    const refused = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect(refused.json.error.code).toBe('spending_limit_exceeded');
  });

  it.each([
    ['operator', 'owner'],
    ['owner', 'operator'],
  ] as const)('holds requests to the limit of the %s, which the %s cannot lift', async (strict, lenient) => {
    const operator = await gateway.dashboardUser({ operator: true });
    const set = {
      owner: (limit: number | null) => update({ monthly_limit_micro: limit }),
      operator: (limit: number | null) =>
        operator.call(`/dashboard/api/operator/organizations/${client.organizationId}`, {
          method: 'PATCH',
          body: { monthly_limit_micro: limit },
        }),
    };
    const refusal = async () => {
      const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
      return (await gateway.call('/v1/chat/completions', { key: customer.key, body })).json.error?.code;
    };
    await set[strict](0);
    await set[lenient](9_000_000);
    expect(await refusal()).toBe('spending_limit_exceeded');
    const [own, operators] = strict === 'owner' ? [0, 9_000_000] : [9_000_000, 0];
    const shown = { monthly_limit_micro: own, operator_monthly_limit_micro: operators };
    expect((await client.call(client.path('/billing/balance'))).json).toMatchObject(shown);
    expect((await set.owner(own)).json).toMatchObject(shown);
    expect((await set.operator(operators)).json).toMatchObject({
      monthly_limit_micro: operators,
      own_monthly_limit_micro: own,
    });
    await set[lenient](null);
    expect(await refusal()).toBe('spending_limit_exceeded');
    await set[strict](null);
    expect(await refusal()).toBeUndefined();
  });

  it.each([
    [{ monthly_limit_micro: -1 }, 'monthly_limit_micro'],
    [{ monthly_limit_micro: 2 ** 53 }, 'monthly_limit_micro'],
    [{ low_balance_threshold_micro: 0 }, 'low_balance_threshold_micro'],
    [{ purchase_limit_day_micro: 1 }, 'purchase_limit_day_micro'],
  ])('refuses %j and names the field', async (body, param) => {
    expect(await update(body)).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });
});

describe('listHolds', () => {
  it('lists holds of requests and jobs, newest first, in pages', async () => {
    await gateway.rows(
      `INSERT INTO hold (id, organization_id, key_id, amount_micro, keyed, owner, expires_at, created_at)
       SELECT gen_random_uuid(), $1, $2, 0, false, CASE n WHEN 1 THEN 'media_job' ELSE 'none' END,
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
      `SELECT money_finish(array_agg(id), array_agg(organization_id), array_agg('released'::text), array_agg(0::bigint))
         FROM hold WHERE organization_id = $1`,
      [customer.organizationId],
    );
  });
});

describe('listLedgerEntries', () => {
  it('lists charges with their requests and other entries with their references', async () => {
    const requestId = await chat();
    const { json } = await client.call(client.path('/billing/ledger'));
    expect(json.data).toEqual([
      expect.objectContaining({ kind: 'charge', request_id: requestId, job_id: null, key_id: customer.keyId }),
      expect.objectContaining({ kind: 'topup', amount_micro: 10_000_000, reference: 'initial', request_id: null }),
    ]);
    expect(json.data[0].amount_micro).toBeLessThan(0);
  });

  it('says from which day on it has the charges of requests, once older days are archived', async () => {
    const keptFrom = async () => (await client.call(client.path('/billing/ledger'))).json.charges_kept_from;
    expect(await keptFrom()).toBeNull();
    await withArchivedDay(gateway, '2026-01-31', async () => {
      expect(await keptFrom()).toBe('2026-02-01');
    });
  });

  it('lists every entry once, newest first, also with equal timestamps', async () => {
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

  it('shows the balance after each entry, exact on every page and with every filter', async () => {
    for (let request = 0; request < 4; request++) {
      await chat();
      await gateway.rows(`SELECT money_post($1, 'adjust', 1000, $2)`, [client.organizationId, `bonus ${request}`]);
    }
    const read = async (query: string): Promise<LedgerEntry[]> => {
      const entries: LedgerEntry[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const { json } = await client.call(
          client.path(`/billing/ledger?limit=2${query}${cursor && `&cursor=${cursor}`}`),
        );
        entries.push(...json.data);
        cursor = json.next_cursor;
      }
      return entries;
    };
    const all = await read('');
    expect(all).toHaveLength(9);
    let balance = 0;
    for (const { amount_micro, balance_after_micro } of all.toReversed()) {
      balance += amount_micro;
      expect(balance_after_micro).toBe(balance);
    }
    expect((await client.call(client.path('/billing/balance'))).json.balance_micro).toBe(balance);
    for (const kind of ['charge', 'adjust', 'topup']) {
      expect(await read(`&kind=${kind}`)).toEqual(all.filter((entry) => entry.kind === kind));
    }
    const from = all[4]?.created_at;
    expect(await read(`&from=${from}`)).toEqual(all.filter(({ created_at }) => created_at >= String(from)));
    const { text } = await client.call(client.path('/billing/ledger.csv'));
    const lines = text.trimEnd().split('\r\n').slice(1);
    expect(lines.map((line) => Number(line.split(',').at(-2)))).toEqual(all.map((entry) => entry.balance_after_micro));
  });

  it('has no balance after entries from before it was recorded', async () => {
    await addEntries(1);
    const { json } = await client.call(client.path('/billing/ledger?kind=adjust'));
    expect(json.data).toEqual([expect.objectContaining({ amount_micro: 1, balance_after_micro: null })]);
  });

  it('filters by time', async () => {
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
  ])('refuses ?%s and names the parameter', async (query, param) => {
    const reply = await client.call(client.path(`/billing/ledger?${query}`));
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
  });

  it('shows no entries of another organization', async () => {
    const other = await gateway.dashboardUser();
    expect((await other.call(other.path('/billing/ledger'))).json.data).toEqual([]);
    const path = other.path('/billing/ledger').replace(other.organizationId, customer.organizationId);
    expect((await other.call(path)).status).toBe(404);
  });
});

describe('exportLedger', () => {
  it('exports the whole ledger with a header line, across pages', async () => {
    await addEntries(2_500);
    const reply = await client.call(client.path('/billing/ledger.csv'));
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const lines = reply.text.split('\r\n');
    expect(lines[0]).toBe(
      '\uFEFFid,created_at,kind,amount_micro,request_id,job_id,key_id,reference,balance_after_micro,purchase_id',
    );
    expect(lines).toHaveLength(1 + 2_500 + 1 + 1);
    expect(lines[1]).toMatch(/^\d+,\d{4}-\d\d-\d\dT[\d:.]{15}Z,adjust,2500,,,,entry 2500,,$/);
    expect(lines.at(-2)).toContain(',topup,10000000,,,,initial,10000000,');
    expect(lines.at(-1)).toBe('');
    expect((await client.call(client.path('/billing/ledger.csv?kind=topup'))).text.split('\r\n')).toHaveLength(3);
  });

  it('says in a header from which day on it has the charges of requests, once older days are archived', async () => {
    const keptFrom = async () =>
      (await client.call(client.path('/billing/ledger.csv'))).headers.get('x-charges-kept-from');
    expect(await keptFrom()).toBeNull();
    await withArchivedDay(gateway, '2026-01-31', async () => {
      expect(await keptFrom()).toBe('2026-02-01');
    });
  });

  it('resets the connection when the database fails during the export', async () => {
    await addEntries(60_000);
    const request = get(`${gateway.url}${client.path('/billing/ledger.csv')}`, { headers: { cookie: client.cookie } });
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    expect(reply.statusCode).toBe(200);
    await gateway.rows('ALTER VIEW ledger_entry RENAME TO ledger_entry_away');
    try {
      const ending = await new Promise<string>((resolve) => {
        reply.on('end', () => resolve('end')).on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`));
        reply.resume();
      });
      expect(ending).toBe('ECONNRESET');
    } finally {
      await gateway.rows('ALTER VIEW ledger_entry_away RENAME TO ledger_entry');
    }
  });
});

describe('the test provider', () => {
  const page = async () => {
    const bought = await client.call(client.path('/billing/purchases'), { body: { amount_micro: 1_230_000 } });
    return { id: bought.json.id as string, path: new URL(bought.json.checkout_url).pathname };
  };
  const pay = (path: string) => gateway.call(path, { method: 'POST', headers: { 'x-requested-with': 'test' } });

  it('accepts a payment on its page and credits it', async () => {
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

  it('accepts one of several concurrent payments of a purchase', async () => {
    const { path } = await page();
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await pay(path)).status));
    expect(statuses.toSorted()).toEqual([200, 409, 409, 409]);
  });

  it('returns buyers to the billing page of the organization, paid or not', async () => {
    const { id, path } = await page();
    const linksOf = async () =>
      [...(await gateway.call(path)).text.matchAll(/(?:data-return-url|href)="[^"]*\/dashboard(\/o\/[^"]*)"/g)].map(
        ([, below]) => below?.replace('&amp;', '&'),
      );
    const returnPath = `/o/${client.organizationId}/billing?purchase=${id}`;
    await expect(linksOf()).resolves.toEqual([`${returnPath}&outcome=paid`, `${returnPath}&outcome=canceled`]);
    await pay(path);
    await expect(linksOf()).resolves.toEqual([`${returnPath}&outcome=paid`, `${returnPath}&outcome=paid`]);
  });

  it('refuses a cross-site payment', async () => {
    const { path } = await page();
    expect((await gateway.call(path, { method: 'POST' })).json.error.code).toBe('csrf_failed');
  });

  it('returns 404 for an unknown purchase', async () => {
    expect((await gateway.call('/dashboard/api/payments/test/none')).json.error.code).toBe('not_found');
    expect((await pay(`/dashboard/api/payments/test/${customer.organizationId}`)).json.error.code).toBe('not_found');
  });

  it('returns 501 not_configured for Stripe events', async () => {
    const reply = await gateway.call('/dashboard/api/payments/stripe/events', { body: {} });
    expect(reply).toMatchObject({ status: 501, json: { error: { code: 'not_configured' } } });
  });
});
