import { allowedMs } from '../../../faults/figures';
import { systemClock } from '../../../../src/core/time/clock';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { FaultProxy } from '../../../harness/fault-proxy';
import { TestGateway } from '../../../harness/gateway';

let gateway: TestGateway;
let proxy: FaultProxy;
let client: DashboardClient;
beforeAll(async () => {
  gateway = await TestGateway.start({}, systemClock, async (url) => {
    proxy = await FaultProxy.start(url);
    return proxy.url;
  });
  client = await gateway.dashboardUser();
});
afterEach(() => proxy.heal());
afterAll(async () => {
  await gateway.stop();
  await proxy.close();
});

const login = { email: 'user@example.com', password: 'what they think it is' };

describe('the dashboard without its database', () => {
  it('returns 503 with and without a session, and recovers with the database', async () => {
    proxy.cutOff();
    const replies = await Promise.all([
      client.call(client.path('')),
      client.call(client.path('/keys'), { body: { name: 'ci' } }),
      gateway.call('/dashboard/api/login', { body: login, headers: { 'x-requested-with': 'test' } }),
    ]);
    expect(replies.map(({ json }) => json.error.code)).toEqual(replies.map(() => 'service_unavailable'));
    proxy.heal();
    expect((await client.call(client.path(''))).status).toBe(200);
  });

  it('does not wait for a hanging database during authentication', async () => {
    proxy.fail('toClient', { hang: true });
    const startedAt = performance.now();
    const { json } = await client.call(client.path(''));
    expect(json.error.code).toBe('service_unavailable');
    expect(performance.now() - startedAt).toBeLessThan(allowedMs(2_500));
  });
});
