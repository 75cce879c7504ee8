import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, type ChatOpenAIFields, OpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { CHAT_MODELS, RelayedGateway } from '../relayed-gateway';
import { recordsOf } from '../traces';
import { type CountedTokens, expectChargedOnce } from './charges';
import { access, disableTracing } from './langchain';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  disableTracing();
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const MULTI_BYTE = 'Grüße, 世界, Привет नमस्ते 🚀 👩‍👩‍👧‍👦 — naïve';
const PROMPT = `What does "${MULTI_BYTE}" mean?`;
const cityTool = (name: string, answer: string) =>
  tool(() => answer, { name, description: `${name} of a city`, schema: z.object({ city: z.string() }) });
const TOOLS = [cityTool('get_weather', 'clear'), cityTool('get_time', 'noon')] as const;
const toolNamed = (name: string) => TOOLS.find((each) => each.name === name) ?? TOOLS[0];
const Meeting = z.object({
  title: z.string(),
  kind: z.enum(['call', 'visit']),
  attendees: z.array(z.object({ name: z.string(), age: z.number().nullable() })),
});

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each([
    ['ChatOpenAI by chat', false],
    ['ChatOpenAI by responses', true],
  ])('%s', (_title, useResponsesApi) => {
    const connect = (fields: Partial<ChatOpenAIFields> = {}): ChatOpenAI =>
      new ChatOpenAI({ model, useResponsesApi, maxRetries: 0, ...fields, ...access(gateway, customer) });

    it('returns a text with its usage, finish reason and model', async () => {
      const messages = [new SystemMessage('Be brief.'), new HumanMessage(PROMPT)];
      const message = await connect({ temperature: 0.5, topP: 0.9 }).invoke(messages);
      expect(message.text).toContain(MULTI_BYTE);
      const { total_tokens: total, input_tokens: input, output_tokens: output } = message.usage_metadata ?? NOTHING;
      expect(total).toBe(input + output);
      expect(message.response_metadata).toMatchObject({ model_name: model });
      await expectChargedOnce(gateway, customer, [tokensOf(message)]);
    });

    it('streams the same text, and its usage once', async () => {
      const whole = await connect().invoke(PROMPT);
      const chunks: AIMessageChunk[] = [];
      for await (const chunk of await connect().stream(PROMPT)) chunks.push(chunk);
      const final = chunks.reduce((sum, chunk) => sum.concat(chunk));
      expect(chunks.filter(({ text }) => text !== '').length).toBeGreaterThan(3);
      expect(final.text).toBe(whole.text);
      expect(chunks.filter(({ usage_metadata: usage }) => usage !== undefined)).toHaveLength(1);
      expect(final.usage_metadata).toMatchObject({ total_tokens: whole.usage_metadata?.total_tokens });
      await expectChargedOnce(gateway, customer, [tokensOf(whole), tokensOf(final)]);
    });

    it.each([false, true])('calls tools in parallel and over several steps, streamed: %s', async (streamed) => {
      const bound = connect().bindTools([...TOOLS]);
      const ask = async (messages: BaseMessage[]): Promise<AIMessage> => {
        if (!streamed) return bound.invoke(messages);
        let sum: AIMessageChunk | undefined;
        for await (const chunk of await bound.stream(messages)) sum = sum?.concat(chunk) ?? chunk;
        return sum as AIMessageChunk;
      };
      const messages: BaseMessage[] = [];
      const called: string[][] = [];
      const answers: AIMessage[] = [];
      for (const question of ['What are the weather and the time in Lima?', 'And the weather in Paris?']) {
        messages.push(new HumanMessage(question));
        let answer = await ask(messages);
        for (; answer.tool_calls?.length; answer = await ask(messages)) {
          answers.push(answer);
          messages.push(answer);
          called.push(answer.tool_calls.map(({ name, args }) => `${name} ${args['city']}`));
          for (const call of answer.tool_calls) {
            messages.push(await toolNamed(call.name).invoke({ ...call, type: 'tool_call' }));
          }
        }
        answers.push(answer);
        messages.push(answer);
      }
      expect(called).toEqual([['get_weather Lima', 'get_time Lima'], ['get_weather Paris']]);
      expect(answers.map(({ text }) => text)).toEqual([
        '',
        expect.stringContaining('get_weather returned clear, and get_time returned noon'),
        '',
        expect.stringContaining('get_weather returned clear'),
      ]);
      await expectChargedOnce(gateway, customer, answers.map(tokensOf));
    });

    it.each(['jsonSchema', 'functionCalling'] as const)('returns an output of a zod schema by %s', async (method) => {
      const output = await connect()
        .withStructuredOutput(Meeting, { method, name: 'meeting' })
        .invoke('Alice and Bob call on Friday.');
      expect(output).toEqual(Meeting.parse(output));
    });

    it('streams an output of a zod schema', async () => {
      const structured = connect().withStructuredOutput(Meeting, { method: 'jsonSchema' });
      const partials: unknown[] = [];
      for await (const partial of await structured.stream('Alice and Bob call on Friday.')) partials.push(partial);
      expect(Meeting.parse(partials.at(-1))).toEqual(partials.at(-1));
    });

    it('accepts an image beside the text', async () => {
      const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
      const content = [{ type: 'text' as const, text: 'What is on it?' }, image];
      expect((await connect().invoke([new HumanMessage({ content })])).text).toContain('an image');
    });
  });
});

/** By chat here, and as a completion over HTTP. */
it.each(['mock/chat-1', 'relay/base-1'])('completes texts with %s, whole and streamed alike', async (model) => {
  const client = new OpenAI({ model, maxTokens: 60, ...access(gateway, customer) });
  const { generations, llmOutput } = await client.generate([PROMPT]);
  const text = generations[0]?.[0]?.text ?? '';
  expect(text).toContain(MULTI_BYTE);
  const pieces: string[] = [];
  for await (const piece of await client.stream(PROMPT)) pieces.push(piece);
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.join('')).toBe(text);
  const { tokenUsage } = llmOutput as { tokenUsage: { promptTokens: number; completionTokens: number } };
  const tokens = { inputTokens: tokenUsage.promptTokens, outputTokens: tokenUsage.completionTokens };
  await expectChargedOnce(gateway, customer, [tokens, tokens]);
});

it.each(['mock/embed-1', 'relay/embed-1'])('embeds queries and documents with %s, in either format', async (model) => {
  const fields = { model, dimensions: 16, ...access(gateway, customer) };
  const texts = ['The cat sat on the mat.', 'Grüße, 世界 🚀'];
  // The underlying client requests base64 by default.
  const vectors = await new OpenAIEmbeddings(fields).embedDocuments(texts);
  expect(vectors.map(({ length }) => length)).toEqual([16, 16]);
  expect(await new OpenAIEmbeddings({ ...fields, encodingFormat: 'float' }).embedDocuments(texts)).toEqual(vectors);
  expect(await new OpenAIEmbeddings(fields).embedQuery(texts[1] ?? '')).toEqual(vectors[1]);
  expect(await recordsOf(gateway, customer)).toHaveLength(3);
});

it('splits a long list of documents into several calls, in order', async () => {
  const fields = { model: 'mock/embed-1', dimensions: 2, ...access(gateway, customer) };
  const texts = Array.from({ length: 600 }, (_value, index) => `document ${index}`);
  const vectors = await new OpenAIEmbeddings(fields).embedDocuments(texts);
  expect(vectors).toHaveLength(600);
  expect(vectors.at(-1)).toEqual(await new OpenAIEmbeddings(fields).embedQuery(texts.at(-1) ?? ''));
  expect(await recordsOf(gateway, customer)).toHaveLength(3);
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});

const NOTHING = { input_tokens: 0, output_tokens: 0, total_tokens: 1 };

function tokensOf({ usage_metadata: usage }: AIMessage): CountedTokens {
  return { inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens };
}
