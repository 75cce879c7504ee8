import { TestGateway } from '../../../harness/gateway';
import { MovedClock } from '../accounts/visitor';
import { ask, isMutation, OPERATIONS, pathOf } from './operations';

const CHANGES_PER_MINUTE = 10;

let gateway: TestGateway;
const clock = new MovedClock();
beforeAll(async () => {
  gateway = await TestGateway.start({ DASHBOARD_CHANGES_PER_MINUTE: String(CHANGES_PER_MINUTE) }, clock);
});
afterAll(() => gateway.stop());

describe('changes in the dashboard', () => {
  it('are limited exactly per user under concurrency; reads and other users are not', async () => {
    const owner = await gateway.dashboardUser();
    const create = () => owner.call(owner.path('/keys'), { body: { name: 'ci' } });
    const replies = await Promise.all(Array.from({ length: 25 }, create));
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(CHANGES_PER_MINUTE);
    expect(refused).toHaveLength(25 - CHANGES_PER_MINUTE);
    for (const { json, headers } of refused) {
      expect(json.error.code).toBe('rate_limited');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(30);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    const entries = await gateway.rows('SELECT FROM audit_entry WHERE actor_user_id = $1', [owner.userId]);
    expect(entries).toHaveLength(CHANGES_PER_MINUTE);

    expect((await owner.call(owner.path('/keys'))).status).toBe(200);
    const colleague = await gateway.dashboardUser({ organizationId: owner.organizationId });
    expect((await colleague.call(colleague.path('/keys'), { body: { name: 'ci' } })).status).toBe(201);
    clock.moveMinutes(1);
    expect((await create()).status).toBe(201);
  });

  it('are not used up by estimates, which have the same limit of their own', async () => {
    const owner = await gateway.dashboardUser();
    const estimate = () =>
      owner.call('/dashboard/api/explain', {
        body: { key_id: owner.organizationId, operation: 'createChatCompletion', request: {} },
      });
    const replies = await Promise.all(Array.from({ length: CHANGES_PER_MINUTE + 1 }, estimate));
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(1);
    expect((await owner.call(owner.path('/keys'), { body: { name: 'ci' } })).status).toBe(201);
  });

  it('are limited in every operation that needs a session', async () => {
    const owner = await gateway.dashboardUser({ operator: true });
    const changes = OPERATIONS.filter(
      (operation) =>
        isMutation(operation) &&
        operation.access !== 'anonymous' &&
        operation.access !== 'machine' &&
        operation.operationId !== 'explainRequest',
    );
    for (let change = 0; change < CHANGES_PER_MINUTE; change++) {
      await owner.call('/dashboard/api/me', { method: 'PATCH', body: { name: `Name ${change}` } });
    }
    const replies = await Promise.all(
      changes.map(async (operation) => {
        const { json } = await ask(gateway, operation, pathOf(operation, owner.organizationId), owner);
        return [operation.operationId, json?.error?.code];
      }),
    );
    expect(replies).toEqual(changes.map(({ operationId }) => [operationId, 'rate_limited']));
    expect(changes.length).toBeGreaterThan(40);
  });
});
