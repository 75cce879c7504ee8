import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import {
  CollectedEvents,
  events,
  finish,
  message,
  START,
  STOP,
  text,
  toolUse,
} from '../../../../test/conformance/message-events';
import { chatRequest, choiceOf, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ChatProvider } from '../../contract/chat';
import { UpstreamHttp } from '../../kit/upstream-http';
import { AnthropicMessages } from './anthropic-messages.provider';

const OBJECT = '{"a":"} \\" {","b":{"c":[1]}}';
const request = chatRequest({
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'go' },
  ],
  response_format: { type: 'json_object' },
});

let upstream: FakeUpstream;
let chat: ChatProvider & { close(): Promise<void> };

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  const baseUrl = new URL(`${upstream.origin}/`);
  chat = new AnthropicMessages(() => new UpstreamHttp({ baseUrl, headers: {} }));
});
afterEach(async () => {
  await chat.close();
  await upstream.stop();
});

async function answer(written: string, stopReason: Message['stop_reason'] = 'end_turn'): Promise<unknown> {
  const content: Message['content'] = [{ type: 'text', text: written, citations: null }];
  upstream.answer = (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(message({ content, stop_reason: stopReason })));
  const { body } = await chat.complete(request, providerCall());
  return (choiceOf({ ...body })['message'] as { content: unknown }).content;
}

async function streamed(...list: readonly { readonly type: string }[]): Promise<CollectedEvents['list']> {
  upstream.answer = (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(START, ...list, STOP));
  const sink = new CollectedEvents();
  await (await chat.openStream(request, providerCall())).pipe(sink);
  return sink.list;
}

describe('response_format json_object', () => {
  it('asks for an object in the system prompt, after the instructions of the caller', async () => {
    await answer(OBJECT);
    const { system, output_config: config } = JSON.parse(upstream.received[0]?.body ?? '') as Record<string, unknown>;
    const asked = { type: 'text', text: expect.stringContaining('one valid JSON object') as string };
    expect(system).toEqual([{ type: 'text', text: 'Be brief.' }, asked]);
    expect(config).toBeUndefined();
  });

  it.each([OBJECT, ` ${OBJECT}\n`, `\`\`\`json\n${OBJECT}\n\`\`\``, `Here it is: ${OBJECT} Anything else?`])(
    'returns only the object of %j, whole and streamed in pieces of any size',
    async (written) => {
      expect(await answer(written)).toBe(OBJECT);
      for (const size of [1, 2, 3, 7, written.length]) {
        const pieces = written.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const list = await streamed(...text(0, ...pieces), finish('end_turn'));
        expect(list.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: OBJECT }]);
        expect(list.at(-2)).toEqual({ type: 'finish', reason: 'stop' });
      }
    },
  );

  it.each(['I cannot do that.', '[1, 2]', '{"a": 1', '{a: 1}', 'Use {braces}: {"a":1}'])(
    'is an error when the complete answer is %j',
    async (written) => {
      const error = await providerErrorOf(answer(written));
      expect([error.code, error.options.fallback]).toEqual(['provider_error', true]);
      const failure = await providerErrorOf(streamed(...text(0, written), finish('end_turn')));
      // The latter once the client has received something.
      expect(['provider_error', 'stream_interrupted']).toContain(failure.code);
    },
  );

  it('passes on an incomplete answer that a limit or a refusal cut off, as every JSON mode does', async () => {
    expect(await answer('{"a": 1', 'max_tokens')).toBe('{"a": 1');
    expect(await answer('', 'refusal')).toBe('');
    const list = await streamed(...text(0, '{"a": 1'), finish('max_tokens'));
    expect(list.slice(1, 3)).toEqual([
      { type: 'text', text: '{"a": 1' },
      { type: 'finish', reason: 'length' },
    ]);
  });

  it('leaves tool calls alone, without the text before them', async () => {
    const list = await streamed(
      ...text(0, 'I look it up.'),
      ...toolUse(1, 'toolu_1', 'f', '{"q":1}'),
      finish('tool_use'),
    );
    expect(list.map(({ type }) => type)).toEqual(['start', 'tool_call', 'tool_input', 'finish', 'usage']);
  });
});
