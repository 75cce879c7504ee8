import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway, type CallReply, type TestCustomer } from '../../../harness/gateway';
import { ask, OPERATIONS, pathOf, withoutRequestId } from './operations';

/** Every route with an id, called with an id of another organization: returns the 404 of an unknown id. */
let gateway: TestGateway;
let client: DashboardClient;
let foreign: Readonly<Record<string, string>>;

beforeAll(async () => {
  gateway = await TestGateway.start({ MOCK_MEDIA_PROVIDER: 'true' });
  client = await gateway.dashboardUser({ operator: true });
  foreign = await makeForeignThings(await gateway.customer());
});
afterAll(() => gateway.stop());

/** One resource per path parameter, owned by another organization or, where it has none, by another user. */
async function makeForeignThings(customer: TestCustomer): Promise<Record<string, string>> {
  const other = await gateway.dashboardUser({ organizationId: customer.organizationId });
  const chat = await gateway.call('/v1/chat/completions', {
    key: customer.key,
    body: { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] },
  });
  const job = await gateway.call('/v1/video/generations', {
    key: customer.key,
    headers: { 'idempotency-key': randomUUID() },
    body: { model: 'mock/video-1', prompt: 'A cat', duration_seconds: 1 },
  });
  const [invitation, delivery, purchase] = [randomUUID(), randomUUID(), randomUUID()];
  await gateway.rows(
    `INSERT INTO organization_invitation (id, organization_id, email, email_key, role, digest, created_at, expires_at)
     VALUES ($1, $2, 'a@example.com', 'a@example.com', 'viewer', sha256('a'), now(), now() + interval '1 day')`,
    [invitation, customer.organizationId],
  );
  await gateway.rows(
    `INSERT INTO webhook_delivery (id, job_id, organization_id, event, url, target_host, state, next_at, created_at, ended_at)
     VALUES ($1, $2, $3, 'job.completed', 'https://example.com', 'example.com', 'exhausted', now(), now(), now())`,
    [delivery, job.json.id, customer.organizationId],
  );
  await gateway.rows(
    `INSERT INTO purchase (id, organization_id, provider, amount_micro, created_at, expires_at)
     VALUES ($1, $2, 'stripe', 10000, now(), now())`,
    [purchase, customer.organizationId],
  );
  return {
    key_id: customer.keyId,
    user_id: other.userId,
    session_id: other.sessionId,
    invitation_id: invitation,
    request_id: chat.headers.get('x-request-id') as string,
    job_id: job.json.id as string,
    delivery_id: delivery,
    purchase_id: purchase,
  };
}

const ROUTES = OPERATIONS.filter(
  ({ ids, access }) => ids.length > 0 && access !== 'operator' && access !== 'anonymous',
);

it('has a foreign resource for every id parameter of a path', () => {
  expect(new Set(ROUTES.flatMap(({ ids }) => ids))).toEqual(new Set(Object.keys(foreign)));
});

describe.each(ROUTES.map((operation) => [operation.operationId, operation] as const))('%s', (_id, operation) => {
  it('returns the same 404 for a foreign, an unknown and a malformed id', async () => {
    const texts = [(name: string) => foreign[name] as string, () => randomUUID(), () => 'no-such-id', () => '%00'];
    const replies: CallReply[] = [];
    for (const idOf of texts) {
      replies.push(await ask(gateway, operation, pathOf(operation, client.organizationId, idOf), client));
    }
    expect(replies.map(({ status }) => status)).toEqual(texts.map(() => 404));
    const [first, ...others] = replies.map(withoutRequestId);
    expect(first).toMatchObject({ code: 'not_found' });
    expect(others).toEqual(others.map(() => first));
  });

  it('returns the same 404 for every organization that the caller is not a member of', async () => {
    const organizations = [(await gateway.customer()).organizationId, randomUUID(), 'no-such-id', '%00'];
    if (!operation.path.includes('{organization_id}')) return;
    const bodies: unknown[] = [];
    for (const id of organizations) {
      bodies.push(withoutRequestId(await ask(gateway, operation, pathOf(operation, id), client)));
    }
    expect(bodies).toEqual(bodies.map(() => ({ ...(bodies[0] as object), code: 'not_found' })));
  });
});
