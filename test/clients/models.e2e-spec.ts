import type OpenAI from 'openai';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  let client: OpenAI;
  beforeAll(() => {
    client = official.connect(gateway, customer.key);
  });

  it('lists the models as one page', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain('mock/chat-1');
    expect(new Set(ids).size).toBe(ids.length);
    const page = await client.models.list();
    expect(page.data.map(({ id }) => id)).toEqual(ids);
    expect(page.hasNextPage()).toBe(false);
  });

  it('retrieves a model by its id', async () => {
    const model = await client.models.retrieve('mock/chat-1');
    expect(model).toMatchObject({ id: 'mock/chat-1', object: 'model', owned_by: 'mock', created: expect.any(Number) });
  });

  it.each(['/models/mock/chat-1', '/models/mock%2Fchat-1'])('answers GET %s', async (path) => {
    expect(await client.get(path)).toMatchObject({ id: 'mock/chat-1' });
  });

  it('raises NotFoundError for an unknown model', async () => {
    const failure = await client.models.retrieve('mock/none').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(official.sdk.NotFoundError);
    expect(failure).toMatchObject({ status: 404, code: 'model_not_found' });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});
