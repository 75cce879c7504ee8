import { EmbeddingGateway } from './embedding-gateway';

const INPUTS = 300;
const DIMENSIONS = 1_536;

let served: EmbeddingGateway;

beforeAll(async () => {
  served = await EmbeddingGateway.start();
});
afterAll(() => served.stop());

/** A response that is written in many pieces. */
const BODY = { model: 'mock/embed-1', input: Array(INPUTS).fill('some words') };

it('a response in pieces is one document with Content-Length and cost', async () => {
  const { status, headers, text, json } = await served.embed(BODY);
  expect([status, headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))]);
  expect(json.data).toHaveLength(INPUTS);
  expect(json.data.at(-1).embedding).toHaveLength(DIMENSIONS);
  expect(String(json.usage.x_llm_cost_micro)).toBe(headers.get('x-llm-cost-micro'));
});

it('a response in pieces is replayed byte for byte', async () => {
  const headers = { 'idempotency-key': 'pieces' };
  const first = await served.embed({ ...BODY, encoding_format: 'base64' }, headers);
  const second = await served.embed({ ...BODY, encoding_format: 'base64' }, headers);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(second.text === first.text).toBe(true);
});

it('a disconnect in the middle of a response charges it in full and leaves no hold', async () => {
  const customer = await served.gateway.customer();
  const leaving = new AbortController();
  const response = await fetch(`${served.gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  leaving.abort();
  expect(await served.balance(customer)).toBe(10_000_000 - Number(response.headers.get('x-llm-cost-micro')));
  expect(await served.gateway.violations()).toEqual([]);
});
