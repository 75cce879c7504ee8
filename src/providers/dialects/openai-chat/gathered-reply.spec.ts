import { chunk, sse } from '../../../../test/conformance/chat-chunks';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { UpstreamHttp } from '../../kit/upstream-http';
import { OpenAiChat } from './openai-chat.provider';

const usage = { prompt_tokens: 9, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 2 } };
const call = providerCall({ quirks: { streamOnly: true } });
const begun = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a"' } };
const citation = {
  type: 'url_citation',
  url_citation: { start_index: 0, end_index: 2, url: 'https://a.example', title: 'A' },
};

describe('whole replies of an upstream that only streams', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(`${upstream.origin}/v1`) });
  });

  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  const complete = (bytes: string) => {
    upstream.answer = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);
    return new OpenAiChat(http).complete(chatRequest(), call);
  };

  it('contain the text, reasoning, tool calls and usage of the stream', async () => {
    const logprobs = (token: string) => ({ logprobs: { content: [{ token, logprob: -1 }] } });
    const { body, usage: counted } = await complete(
      sse(
        chunk({ role: 'assistant', reasoning_content: 'Let' }),
        chunk({ reasoning_content: ' me think' }),
        chunk({ content: 'Hi' }, logprobs('Hi')),
        chunk({ content: ' there' }, logprobs(' there')),
        chunk({ tool_calls: [begun] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
        chunk({ annotations: [citation] }),
        { ...chunk({}, { finish_reason: 'tool_calls' }), usage },
        '[DONE]',
      ),
    );
    expect(body).toMatchObject({ id: 'chatcmpl-up', object: 'chat.completion', model: 'vendor/public-model' });
    expect(body.choices).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hi there',
          refusal: null,
          reasoning_content: 'Let me think',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          annotations: [citation],
        },
        logprobs: {
          content: [
            { token: 'Hi', logprob: -1 },
            { token: ' there', logprob: -1 },
          ],
          refusal: null,
        },
        finish_reason: 'tool_calls',
      },
    ]);
    expect(counted).toMatchObject({ inputText: 9, outputText: 3, outputReasoning: 2 });
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toMatchObject({ stream: true });
  });

  it.each([
    ['ends early', '', 'provider_disconnect'],
    ['reports an error', sse({ error: { code: 503, message: 'down' } }), 'provider_unavailable'],
  ])('allow failover when the stream %s', async (_name, rest, code) => {
    const failure = await providerErrorOf(complete(sse(chunk({ content: 'Hi' })) + rest));
    expect([failure.code, failure.options.phase, failure.options.fallback]).toEqual([code, 'first_token', true]);
  });
});
