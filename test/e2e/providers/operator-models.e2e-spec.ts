/**
 * Models without a list price, as src/models/README.md describes them: deployments of Azure OpenAI, which operators
 * name, with an instance per resource, and models of NVIDIA NIM.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { type TestCustomer, TestGateway } from '../../harness/gateway';
import { chunk, usageChunk } from '../../harness/upstream-models';

const CATALOG = `
- id: acme/gpt
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  context: 128000
  max_output: 16384
  features: { tools: true, json_object: true, json_schema: true, streaming: true }
  deployments:
    - { provider: azure-eu, upstream_model: our-gpt-eu }
    - { provider: azure, upstream_model: our-gpt-us }
  prices:
    - effective_from: 2026-01-01
      source: our contract with Microsoft
      checked_at: 2026-01-01
      tokens: { per_1m_micro: { input: 2000000, output: 8000000 } }
`;
const INSTANCES = `
- id: azure-eu
  module: azure
  base_url: \${EU_BASE_URL}
  api_key: \${EU_API_KEY}
`;
const COST_MICRO = 100 * 2 + 10 * 8;

/** The example of the README. */
function nimCatalog(): string {
  const readme = readFileSync(join(__dirname, '../../../src/models/README.md'), 'utf8');
  const example = /```yaml\n(- id: nim\/.*?)```/s.exec(readme)?.[1];
  if (example === undefined) throw new Error('the README has no example of NVIDIA NIM');
  return example;
}

let directory: string;
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  directory = mkdtempSync(join(tmpdir(), 'gateway-azure-'));
  writeFileSync(join(directory, 'azure.yaml'), CATALOG);
  writeFileSync(join(directory, 'nim.yaml'), nimCatalog());
  const providersFile = join(directory, 'providers.txt');
  writeFileSync(providersFile, INSTANCES);
  gateway = await TestGateway.start({
    AZURE_API_KEY: 'us-key',
    AZURE_BASE_URL: `${upstream.origin}/us/openai/v1`,
    EU_API_KEY: 'eu-key',
    NVIDIA_API_KEY: 'nvapi-key',
    NVIDIA_BASE_URL: `${upstream.origin}/nim/v1`,
    EU_BASE_URL: `${upstream.origin}/eu/openai/v1`,
    PROVIDERS_FILE: providersFile,
    CATALOG_DIR: directory,
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => (upstream.received.length = 0));

const ask = (body: object) =>
  gateway.call('/v1/chat/completions', {
    key: customer.key,
    body: { model: 'acme/gpt', messages: [{ role: 'user', content: 'Hello' }], ...body },
  });

describe('deployments of Azure OpenAI', () => {
  it('are called by their names with the key of their resource, and charged at the operator’s price', async () => {
    upstream.answer = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 100, completion_tokens: 10 },
        }),
      );
    const { status, json } = await ask({});
    expect(status).toBe(200);
    expect(json).toMatchObject({ model: 'acme/gpt', usage: { x_llm_cost_micro: COST_MICRO } });
    const [sent] = upstream.received;
    expect([sent?.url, sent?.headers['api-key']]).toEqual(['/eu/openai/v1/chat/completions', 'eu-key']);
    expect(sent?.headers).not.toHaveProperty('authorization');
    expect(JSON.parse(sent?.body ?? '{}')).toMatchObject({ model: 'our-gpt-eu' });
  });

  it('stream, and take over for each other', async () => {
    upstream.answer = (response, { url }) => {
      if (url.startsWith('/eu/')) return void response.writeHead(503).end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(chunk({ content: 'Hi' }) + chunk({}, 'stop') + usageChunk(100, 10) + 'data: [DONE]\n\n');
    };
    const { events } = await ask({ stream: true });
    expect(JSON.parse(events.at(-2) ?? '{}')).toMatchObject({ usage: { x_llm_cost_micro: COST_MICRO } });
    const last = upstream.received.at(-1);
    expect([last?.url, last?.headers['api-key']]).toEqual(['/us/openai/v1/chat/completions', 'us-key']);
    expect(JSON.parse(last?.body ?? '{}')).toMatchObject({ model: 'our-gpt-us' });
  });
});

describe('models of NVIDIA NIM', () => {
  const answer = (body: object): void => {
    upstream.answer = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  it('answer chats at the price of the operator', async () => {
    answer({
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 10 },
    });
    const { json } = await ask({ model: 'nim/nemotron-3-super', max_completion_tokens: 50 });
    expect(json).toMatchObject({ usage: { x_llm_cost_micro: 100 * 0.1 + 10 * 0.4 } });
    const [sent] = upstream.received;
    expect([sent?.url, sent?.headers.authorization]).toEqual(['/nim/v1/chat/completions', 'Bearer nvapi-key']);
    const body: unknown = JSON.parse(sent?.body ?? '{}');
    expect(body).toMatchObject({ model: 'nvidia/nemotron-3-super-120b-a12b', max_tokens: 50 });
  });

  it('embed with their input_type', async () => {
    answer({ data: [{ index: 0, embedding: [0.5, 0.25] }], usage: { prompt_tokens: 100, total_tokens: 100 } });
    const { status, json } = await gateway.call('/v1/embeddings', {
      key: customer.key,
      body: { model: 'nim/nemotron-embed', input: 'Hello', input_type: 'query' },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ usage: { x_llm_cost_micro: 10 } });
    expect(JSON.parse(upstream.received[0]?.body ?? '{}')).toEqual({
      model: 'nvidia/llama-nemotron-embed-1b-v2',
      input: 'Hello',
      input_type: 'query',
    });
  });
});
