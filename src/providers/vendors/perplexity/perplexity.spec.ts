import { type Answer, FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { sse } from '../../../../test/conformance/chat-chunks';
import type { ChatRequest } from '../../contract/chat';
import type { Provider } from '../../contract/provider';
import { PerplexityProvider } from './perplexity.module';

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

const reply =
  (fields: object = {}): Answer =>
  (response) =>
    response.end(
      JSON.stringify({
        id: 'resp_1',
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
        usage: { input_tokens: 100, output_tokens: 40 },
        ...fields,
      }),
    );

describe('Perplexity', () => {
  let upstream: FakeUpstream;
  let provider: Provider;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    upstream.answer = reply();
    const environment = { PERPLEXITY_API_KEY: 'pplx-test', PERPLEXITY_BASE_URL: `${upstream.origin}/v1` };
    const created = new PerplexityProvider().create(environment);
    if (created === null) throw new Error('not configured');
    provider = created;
  });

  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });

  const complete = (fields: Partial<ChatRequest> = {}) =>
    provider.chat?.complete(chatRequest(fields), providerCall({ quirks: provider.quirks }));

  it('gets chats at the Agent API, with the response format of a chat', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };
    await complete({ response_format: format, max_tokens: 50, user: 'ada', metadata: { a: 'b' } });
    const [sent] = upstream.received;
    expect([sent?.method, sent?.url, sent?.headers['authorization']]).toEqual([
      'POST',
      '/v1/responses',
      'Bearer pplx-test',
    ]);
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      model: 'upstream-model',
      input: [{ type: 'message', role: 'user', content: 'Hello' }],
      store: false,
      max_output_tokens: 50,
      response_format: format,
    });
  });

  it('gets embedding requests for signed bytes, which clients get as numbers', async () => {
    // https://docs.perplexity.ai/api-reference/embeddings-post
    const data = [[-128, 127].map((value) => value & 255), [0, 255]].map((bytes, index) => ({
      object: 'embedding',
      index,
      embedding: Buffer.from(bytes).toString('base64'),
    }));
    const usage = {
      prompt_tokens: 12,
      total_tokens: 12,
      cost: { input_cost: 0.00001, total_cost: 0.00001, currency: 'USD' },
    };
    upstream.answer = (response) =>
      response.end(JSON.stringify({ object: 'list', data, model: 'pplx-embed-v1-4b', usage }));
    const result = await provider.embeddings?.embed(
      { model: 'm', input: ['a', 'b'], dimensions: 2, encoding_format: 'float', user: 'ada' },
      providerCall({ quirks: provider.quirks }),
    );
    expect(result?.vectors.map((vector) => [...vector])).toEqual([
      [-128, 127],
      [0, -1],
    ]);
    expect(result?.usage?.inputText).toBe(12);
    const [sent] = upstream.received;
    expect([sent?.url, JSON.parse(sent?.body ?? '')]).toEqual([
      '/v1/embeddings',
      { model: 'upstream-model', input: ['a', 'b'], dimensions: 2, encoding_format: 'base64_int8' },
    ]);
  });

  it('gets no field that the gateway does not know, such as an address', async () => {
    const refused = complete({ api_base: 'http://127.0.0.1:9/evil' } as Partial<ChatRequest>) ?? Promise.reject();
    const { code, options } = await providerErrorOf(refused);
    expect([code, options.phase, upstream.received]).toEqual(['validation_failed', 'connect', []]);
  });

  it('gets the results of tools after an answer whose status is that it requires them', async () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' };
    upstream.answer = reply({ status: 'requires_action', output: [{ ...call, status: 'completed' }] });
    const [choice] = (await complete({ tools }))?.body.choices ?? [];
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: [{ id: 'call_1' }] } });
  });

  it('says why a stream failed in the event itself, without a response', async () => {
    const error = { type: 'invalid_request_error', code: 'invalid_request', message: 'The schema is too deep.' };
    const events = sse({ type: 'response.created', sequence_number: 0 }, { type: 'response.failed', error });
    upstream.answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events);
    const opened = provider.chat?.openStream(chatRequest({ stream: true }), providerCall({ quirks: provider.quirks }));
    const { code, options } = await providerErrorOf(opened ?? Promise.reject());
    expect([code, options.details?.['provider_message']]).toEqual(['validation_failed', error.message]);
  });

  it.each([
    [{ total_cost: 0.000125, currency: 'USD' }, 125],
    // A tenth of a micro-USD survives: the price rounds once.
    [{ total_cost: 0.0001251, currency: 'USD' }, 125.1],
    [{ total_cost: 5, currency: 'EUR' }, undefined],
    [undefined, undefined],
  ])('reports its own bill %j as the vendor cost %s in micro-USD', async (cost, expected) => {
    upstream.answer = reply({ usage: { input_tokens: 100, output_tokens: 40, cost } });
    const usage = (await complete())?.usage;
    expect(usage).toMatchObject({ inputText: 100, outputText: 40 });
    expect(usage?.vendorCostMicro).toBe(expected);
  });
});
