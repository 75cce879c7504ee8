import { randomUUID } from 'node:crypto';
import { LedgerService } from '../../../src/billing/ledger/ledger.service';
import type { TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { chunk } from '../../harness/upstream-models';
import { BODY, KeyedGateway, STREAM_BODY, until } from './keyed-gateway';

let keyed: KeyedGateway;
let customer: TestCustomer;

beforeAll(async () => {
  keyed = await KeyedGateway.start({ UPSTREAM_REPLY_TIMEOUT_MS: '4000', UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: '4000' });
});
beforeEach(async () => {
  keyed.answerWell();
  customer = await keyed.gateway.customer();
});
afterAll(() => keyed.stop());

interface Failure {
  readonly title: string;
  readonly status: number;
  readonly fail: () => Promise<void> | void;
  readonly mend?: () => Promise<unknown>;
}

/** Nothing was delivered or charged: the client may, and mostly should, retry the same request. */
const FAILURES: readonly Failure[] = [
  { title: 'a request that the provider refuses', status: 400, fail: () => keyed.answerStatus(400) },
  {
    title: 'an insufficient balance',
    status: 402,
    fail: () => keyed.takeMoney(customer),
    mend: () =>
      keyed.gateway.app.get(LedgerService, { strict: false }).topUp(customer.organizationId, 10_000_000n, randomUUID()),
  },
  { title: 'a rate-limited provider', status: 429, fail: () => keyed.answerStatus(429, { 'retry-after': '1' }) },
  {
    title: 'an unreachable provider',
    status: 503,
    fail: () => {
      keyed.upstream.answer = (response) => response.destroy();
    },
  },
  {
    title: 'a provider that times out',
    status: 504,
    fail: () => {
      keyed.upstream.answer = () => undefined;
    },
  },
];

describe.each(FAILURES)('$title ($status)', ({ status, fail, mend }) => {
  it.each([
    ['whole', BODY],
    ['streamed', STREAM_BODY],
  ])('frees the key after a failed %s response: a retry executes again', async (_title, body) => {
    await fail();
    const failed = await keyed.call(customer, 'again', body);
    expect(failed.status).toBe(status);
    expect(failed.json.error.code).not.toBe('idempotency_conflict');
    expect(await keyed.states(customer)).toEqual([]);

    await mend?.();
    keyed.answerWell();
    // A rate-limited deployment cools down for its Retry-After.
    let retry = await keyed.call(customer, 'again', body);
    await until(async () => {
      if (retry.status === 503 || retry.status === 429) retry = await keyed.call(customer, 'again', body);
      return retry.status === 200;
    });
    expect(retry.headers.get('idempotent-replayed')).toBeNull();
    expect(await keyed.states(customer)).toEqual(['completed']);
  });
});

it('charges the delivered part of a broken stream and frees its key', async () => {
  keyed.upstream.answer = (response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write(chunk({ content: 'word '.repeat(400) }));
    void settle(50).then(() => response.destroy());
  };
  const broken = await keyed.call(customer, 'again', STREAM_BODY);
  expect(broken.status).toBe(200);
  expect(JSON.parse(broken.events.at(-2) ?? '').error.code).toBe('stream_interrupted');
  const { balance } = await keyed.spent(customer);
  expect(balance).toBeLessThan(10_000_000);
  expect(await keyed.states(customer)).toEqual([]);

  keyed.answerWell();
  const retry = await keyed.call(customer, 'again', STREAM_BODY);
  expect(retry.headers.get('idempotent-replayed')).toBeNull();
  expect(retry.text).not.toContain('error');
  expect(await keyed.spent(customer)).toMatchObject({ reserved: 0, receipts: 2 });
});

it('keeps every ledger invariant', async () => {
  expect(await keyed.gateway.violations()).toEqual([]);
});
