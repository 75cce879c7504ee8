import { TestGateway } from '../../../harness/gateway';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await TestGateway.start({ MOCK_MEDIA_PROVIDER: 'true' });
});
afterAll(() => gateway.stop());

const PATH = '/dashboard/api/models';

describe('the models of the dashboard', () => {
  it('are all served models, with the records and prices of /v1/models, whatever the keys allow', async () => {
    const outsider = await gateway.dashboardUser({ role: null });
    const [free, restricted] = [await gateway.customer(), await gateway.customer({ allowedModels: ['mock/chat-1'] })];
    const listed = await outsider.call(PATH);
    expect(listed.json).toEqual((await gateway.call('/v1/models', { key: free.key })).json);
    expect(listed.json.data.length).toBeGreaterThan(
      (await gateway.call('/v1/models', { key: restricted.key })).json.data.length,
    );
    expect(listed.json.data).toContainEqual(
      expect.objectContaining({ id: 'mock/chat-1', pricing: expect.objectContaining({ tokens: expect.anything() }) }),
    );
  });

  it('are sent again only after a change', async () => {
    const operator = await gateway.dashboardUser({ operator: true });
    const first = await operator.call(PATH);
    const tag = first.headers.get('etag') as string;
    const ask = () => operator.call(PATH, { headers: { 'if-none-match': `"old", W/${tag}` } });

    const unchanged = await ask();
    expect([unchanged.status, unchanged.text, unchanged.headers.get('etag')]).toEqual([304, '', tag]);
    expect(unchanged.headers.get('cache-control')).toBe('private, no-cache');

    await operator.call('/dashboard/api/operator/models/mock/chat-1', { method: 'PATCH', body: { enabled: false } });
    const changed = await ask();
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(tag);
    expect(changed.json.data.map(({ id }: { id: string }) => id)).not.toContain('mock/chat-1');
  });
});
