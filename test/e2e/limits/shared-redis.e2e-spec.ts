import { TestGateway } from '../../harness/gateway';

const CHAT = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };

describe('two deployments that share a Redis', () => {
  let gateways: TestGateway[];

  beforeAll(async () => {
    const environment = { LIMIT_GLOBAL_REQUESTS_PER_MINUTE: '2' };
    gateways = [await TestGateway.start(environment), await TestGateway.start(environment)];
  });
  afterAll(() => Promise.all(gateways.map((gateway) => gateway.stop())));

  it('do not share the limit of all callers', async () => {
    for (const gateway of gateways) {
      const { key } = await gateway.customer();
      const statuses: number[] = [];
      for (let call = 0; call < 3; call++) {
        statuses.push((await gateway.call('/v1/chat/completions', { key, body: CHAT })).status);
      }
      expect(statuses).toEqual([200, 200, 429]);
    }
  });
});
