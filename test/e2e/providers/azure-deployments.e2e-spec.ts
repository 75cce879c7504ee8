/**
 * Deployments of Azure OpenAI, which operators name, as src/models/README.md describes: a catalogue file, and an instance
 * per resource.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

let directory: string;
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  directory = mkdtempSync(join(tmpdir(), 'gateway-azure-'));
  writeFileSync(join(directory, 'azure.yaml'), CATALOG);
  const providersFile = join(directory, 'providers.txt');
  writeFileSync(providersFile, INSTANCES);
  gateway = await TestGateway.start({
    AZURE_API_KEY: 'us-key',
    AZURE_BASE_URL: `${upstream.origin}/us/openai/v1`,
    EU_API_KEY: 'eu-key',
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
