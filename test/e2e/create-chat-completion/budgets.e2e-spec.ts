import { TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/chat/completions';
const BODY = {
  model: 'mock/chat-1',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Tell me about tea. [[mock: delay=0]]' }],
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start();
});
afterAll(() => gateway.stop());

/** The hold for `BODY`, read from the stream header. */
async function holdOf(customer: TestCustomer): Promise<bigint> {
  const { headers } = await gateway.call(PATH, { key: customer.key, body: { ...BODY, stream: true } });
  return BigInt(headers.get('x-llm-cost-micro') ?? '');
}

const STATEMENTS = {
  daily: 'UPDATE api_key SET daily_budget_micro = $2 WHERE organization_id = $1',
  monthly: 'UPDATE api_key SET monthly_budget_micro = $2 WHERE organization_id = $1',
  limit: `UPDATE organization_account SET operator_monthly_limit_micro = $2, monthly_limit_micro = $2
           WHERE organization_id = $1`,
};

async function allow(what: keyof typeof STATEMENTS, { organizationId }: TestCustomer, amount: bigint): Promise<void> {
  await gateway.rows(STATEMENTS[what], [organizationId, amount.toString()]);
}

/** Status, code and details of one request, whole or streamed. */
async function ask(customer: TestCustomer, stream: boolean): Promise<unknown[]> {
  const reply = await gateway.call(PATH, { key: customer.key, body: { ...BODY, stream } });
  if (reply.status === 200) return [200];
  expect(reply.headers.get('x-should-retry')).toBe('false');
  expect(reply.headers.get('retry-after')).toBeNull();
  return [reply.status, reply.json.error.code, reply.json.error.details];
}

describe.each([false, true])('402, streamed: %p', (stream) => {
  it('reports the daily budget of the key first, then its monthly budget, the organization, and the balance', async () => {
    const hold = await holdOf(await gateway.customer());
    const customer = await gateway.customer({}, hold - 1n);
    for (const what of ['daily', 'monthly', 'limit'] as const) await allow(what, customer, hold - 1n);

    expect(await ask(customer, stream)).toEqual([402, 'budget_exceeded', { budget: 'key_daily' }]);
    await allow('daily', customer, hold);
    expect(await ask(customer, stream)).toEqual([402, 'budget_exceeded', { budget: 'key_monthly' }]);
    await allow('monthly', customer, hold);
    expect(await ask(customer, stream)).toEqual([402, 'spending_limit_exceeded', undefined]);
    await allow('limit', customer, hold);
    expect(await ask(customer, stream)).toEqual([402, 'insufficient_credits', undefined]);

    // A refused request does not count: a request for exactly the held amount passes, to the last micro of all four.
    const enough = await gateway.customer({ dailyBudgetMicro: hold, monthlyBudgetMicro: hold }, hold);
    await allow('limit', enough, hold);
    expect(await ask(enough, stream)).toEqual([200]);
  });

  it('leaves no hold, window or charge for a refused request', async () => {
    const customer = await gateway.customer({ dailyBudgetMicro: 1n });
    for (let index = 0; index < 5; index++) expect((await ask(customer, stream))[1]).toBe('budget_exceeded');
    const { organizationId, keyId } = customer;
    expect(await gateway.rows('SELECT id FROM reservation WHERE organization_id = $1', [organizationId])).toEqual([]);
    expect(
      await gateway.rows('SELECT * FROM spend_window WHERE scope_id IN ($1, $2)', [organizationId, keyId]),
    ).toEqual([]);
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});
