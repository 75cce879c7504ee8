import { Client } from 'undici';
import { DrainService } from '../../../src/http/availability';
import { TestGateway } from '../../harness/gateway';

describe('a gateway whose shutdown is announced', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(() => gateway.stop());

  it('still serves, and closes each connection with the response', async () => {
    const { key } = await gateway.customer();
    const client = new Client(gateway.url);
    const request = async (): Promise<unknown[]> => {
      const { statusCode, headers, body } = await client.request({
        path: '/v1/models',
        method: 'GET',
        headers: { authorization: `Bearer ${key}` },
      });
      await body.dump();
      return [statusCode, headers.connection];
    };
    expect(await request()).toEqual([200, 'keep-alive']);
    await gateway.app.get(DrainService, { strict: false }).announce(0);
    expect(await request()).toEqual([200, 'close']);
    await client.close();
  });

  it('refuses a request with a body, and closes its connection with the response', async () => {
    await gateway.app.get(DrainService, { strict: false }).drain(0);
    const client = new Client(gateway.url);
    const { statusCode, headers, body } = await client.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    await body.dump();
    expect([statusCode, headers.connection]).toEqual([503, 'close']);
    await client.close();
  });
});
