import { TestGateway } from '../../../harness/gateway';
import { MovedClock } from '../accounts/visitor';

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
});
