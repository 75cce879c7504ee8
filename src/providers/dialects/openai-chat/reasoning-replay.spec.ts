import { openChatChunks } from '../../../chat/chat-chunks';
import { chunk, sse } from '../../../../test/conformance/chat-chunks';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import { chatRequest, CollectingSink, providerCall } from '../../../../test/conformance/provider-call';
import type { ChatMessage } from '../../contract/chat';
import type { ProviderCall, Quirks } from '../../contract/provider-call';
import { UpstreamHttp } from '../../kit/upstream-http';
import { OpenAiChat } from './openai-chat.provider';

const REASONING = 'First "look"\n größe 日本 😀 at the weather, then at the map of the city.';
const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
const QUESTION: ChatMessage = { role: 'user', content: 'Which coat?' };
const RESULT: ChatMessage = { role: 'tool', tool_call_id: 'call_1', content: 'rain' };
/** What a client sends back: the reasoning is gone. */
const ANSWER: ChatMessage = { role: 'assistant', content: null, tool_calls: [CALL] };

let upstream: FakeUpstream;
let http: UpstreamHttp;
let chat: OpenAiChat;
let vault: MemoryVault;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  http = new UpstreamHttp({ baseUrl: new URL(upstream.origin) });
  chat = new OpenAiChat(http);
  vault = new MemoryVault();
});
afterEach(async () => {
  await http.close();
  await upstream.stop();
});

const callWith = (quirks: Quirks = { reasoningReplay: true }): ProviderCall =>
  providerCall({ quirks, openVault: () => vault });

function replyWith(message: object): void {
  upstream.answer = (response) =>
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
}

/** The reasoning in small pieces, so that most of them take the fast path. */
function streamWith(calls: readonly object[]): void {
  const pieces = REASONING.match(/[^]{1,4}/gu) ?? [];
  upstream.answer = (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        sse(
          chunk({ role: 'assistant', content: null, reasoning_content: '' }),
          ...pieces.map((piece) => chunk({ content: null, reasoning_content: piece })),
          ...calls.map((each, index) => chunk({ tool_calls: [{ index, ...each }] })),
          chunk({}, { finish_reason: 'tool_calls' }),
          '[DONE]',
        ),
      );
}

/** The messages that the upstream receives. */
async function sentFor(messages: readonly ChatMessage[], call = callWith()): Promise<readonly ChatMessage[]> {
  replyWith({ content: 'An umbrella.' });
  await chat.complete(chatRequest({ messages }), call);
  const { body } = upstream.received.at(-1) ?? { body: '' };
  return (JSON.parse(body) as { messages: readonly ChatMessage[] }).messages;
}

const ANSWERS: readonly [string, (call: ProviderCall) => Promise<unknown>][] = [
  [
    'a whole answer',
    (call) => {
      replyWith({ content: null, reasoning_content: REASONING, tool_calls: [CALL] });
      return chat.complete(chatRequest(), call);
    },
  ],
  [
    'a stream of chunks',
    async (call) => {
      streamWith([CALL]);
      const sink = new CollectingSink();
      await (await openChatChunks(chat, chatRequest(), call)).pipe(sink);
    },
  ],
  [
    'a stream of events',
    async (call) => {
      streamWith([CALL]);
      await (await chat.openStream(chatRequest(), call)).pipe({ write: () => true, drained: () => Promise.resolve() });
    },
  ],
];

it.each(ANSWERS)('returns the reasoning of %s with the results of its tool calls', async (_name, answer) => {
  await answer(callWith());
  expect(await sentFor([QUESTION, ANSWER, RESULT])).toEqual([
    QUESTION,
    { ...ANSWER, reasoning_content: REASONING },
    RESULT,
  ]);
});

it.each(ANSWERS)('stores no reasoning of %s without the quirk', async (_name, answer) => {
  await answer(callWith({}));
  expect(vault.states.size).toBe(0);
});

it('stores no reasoning of an answer that calls no tools', async () => {
  replyWith({ content: 'An umbrella.', reasoning_content: REASONING });
  await chat.complete(chatRequest(), callWith());
  streamWith([]);
  await (await openChatChunks(chat, chatRequest(), callWith())).pipe(new CollectingSink());
  expect(vault.states.size).toBe(0);
});

it('sends the reasoning of the client rather than that of the vault', async () => {
  await ANSWERS[0]?.[1](callWith());
  const own = { ...ANSWER, reasoning_content: 'mine' };
  expect((await sentFor([QUESTION, own, RESULT]))[1]).toEqual(own);
  expect(vault.loaded).toEqual([[]]);
});

it('sends a blank for lost reasoning, also of answers without tool calls in such a conversation', async () => {
  const text: ChatMessage = { role: 'assistant', content: 'An umbrella.' };
  const sent = await sentFor([QUESTION, ANSWER, RESULT, text, QUESTION]);
  expect(sent).toEqual([
    QUESTION,
    { ...ANSWER, reasoning_content: ' ' },
    RESULT,
    { ...text, reasoning_content: ' ' },
    QUESTION,
  ]);
});

it('leaves conversations without tool calls alone and does not read the vault for them', async () => {
  const messages: ChatMessage[] = [QUESTION, { role: 'assistant', content: 'An umbrella.' }, QUESTION];
  expect(await sentFor(messages)).toEqual(messages);
  expect(vault.loaded).toEqual([]);
});

it('without the quirk reads nothing from the vault and sends no reasoning', async () => {
  expect(await sentFor([QUESTION, { ...ANSWER, reasoning_content: 'mine' }, RESULT], callWith({}))).toEqual([
    QUESTION,
    ANSWER,
    RESULT,
  ]);
  expect(vault.loaded).toEqual([]);
});
