/** Requests and answers of clients that speak the Responses API themselves. */
import type { ResponseCreateParams, ResponseInput, ResponseOutputItem } from 'openai/resources/responses/responses';
import { MemoryVault } from '../../../../test/conformance/memory-vault';
import { chatRequest, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../../test/conformance/scripted-transport';
import {
  added,
  callSteps,
  completed,
  created,
  done,
  failed,
  functionCall,
  incomplete,
  message,
  outputText,
  reasoning,
  reasoningSteps,
  response,
  type Step,
  stream,
  textDelta,
} from '../../../../test/conformance/upstream-responses';
import type { InputItem } from '../../contract/chat';
import type { ChatEvent } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { NO_STEPS, type Step as ReasoningStep } from './reasoning-state';
import { fromResponsesReply, toItemEvents } from './responses-reply';
import { toResponsesRequest } from './responses-request';
import { openItemEvents } from './responses-stream';

const CALL = providerCall({
  features: { tools: true, reasoning: ['low', 'high'], sampling: false },
  quirks: { developerRole: true, includeObfuscation: false, reasoningSummary: 'auto' },
});
const asItems = (input: ResponseInput): readonly InputItem[] => input as unknown as readonly InputItem[];
const sealed = (text: string) => ({ type: 'reasoning', summary: [], encrypted_content: text });

describe('the request', () => {
  const INPUT: ResponseInput = [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Which coat?' }] },
    { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"day":1}' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_image', image_url: 'https://a.example/rain.png', detail: 'auto' }],
    },
  ];
  const REQUEST = chatRequest({
    max_tokens: 100,
    temperature: 0.5,
    reasoning_effort: 'high',
    user: 'ada',
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' }, strict: true } }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'coat', schema: { type: 'object' }, strict: true } },
  });

  it('has the conversation unchanged, stores nothing and asks for encrypted reasoning, not for summaries', () => {
    const expected: ResponseCreateParams = {
      model: 'upstream-model',
      input: INPUT,
      store: false,
      user: 'ada',
      max_output_tokens: 100,
      reasoning: { effort: 'high' },
      tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: true }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'coat', schema: { type: 'object' }, strict: true } },
      include: ['reasoning.encrypted_content'],
      stream: true,
      stream_options: { include_obfuscation: false },
    };
    expect(toResponsesRequest(REQUEST, CALL, asItems(INPUT), NO_STEPS, true)).toEqual(expected);
  });

  it('returns reasoning before the messages and calls that it led to', () => {
    const steps: readonly ReasoningStep[] = [
      { type: 'reasoning', summary: [], encrypted_content: 'one' },
      { type: 'message', phase: 'commentary' },
      { type: 'reasoning', summary: [], encrypted_content: 'two' },
      { type: 'call', id: 'call_1' },
    ];
    const { phase: _phase, ...withoutPhase } = INPUT[2] as { phase?: string };
    const input = [...INPUT.slice(0, 2), withoutPhase, ...INPUT.slice(3)] as ResponseInput;
    const sent = toResponsesRequest(REQUEST, CALL, asItems(input), new Map([['call_1', steps]]), false);
    expect(sent['input']).toEqual([...INPUT.slice(0, 2), sealed('one'), INPUT[2], sealed('two'), INPUT[3], INPUT[4]]);
  });

  it('renames the developer role for upstreams without it', () => {
    const { input } = toResponsesRequest(REQUEST, { ...CALL, quirks: {} }, asItems(INPUT), NO_STEPS, false) as {
      input: readonly object[];
    };
    expect(input[0]).toEqual({ type: 'message', role: 'system', content: 'Be brief.' });
    expect(input.slice(1)).toEqual(INPUT.slice(1));
  });
});

/** Reasoning, a message with a source, two calls and a last message. */
const RECORDED: readonly Step[] = [
  created(),
  ...reasoningSteps('one', [], 0),
  added({ ...message([], 'commentary'), status: 'in_progress' }, 1),
  partAdded(1),
  textDelta('Größe ', 1),
  textDelta('"😀"\n', 1),
  {
    type: 'response.output_text.annotation.added',
    item_id: 'item_1',
    output_index: 1,
    content_index: 0,
    annotation_index: 0,
    annotation: { type: 'url_citation', start_index: 0, end_index: 5, url: 'https://a.example', title: 'A page' },
  },
  done(message([outputText('Größe "😀"\n')], 'commentary'), 1),
  ...callSteps('call_1', 'weather', ['{"day"', ':1}'], 2),
  ...callSteps('call_2', 'weather', ['{}'], 3),
  added({ ...message([]), status: 'in_progress' }, 4),
  partAdded(4),
  textDelta('Ende.', 4),
  done({ ...message([outputText('Ende.')]), status: 'incomplete' }, 4),
  incomplete('max_output_tokens'),
];

function partAdded(place: number): Step {
  return {
    type: 'response.content_part.added',
    item_id: `item_${place}`,
    output_index: place,
    content_index: 0,
    part: outputText(''),
  };
}

const citation = {
  type: 'url_citation',
  url_citation: { start_index: 0, end_index: 5, url: 'https://a.example', title: 'A page' },
} as const;
const EXPECTED: readonly ChatEvent[] = [
  { type: 'message', phase: 'commentary' },
  { type: 'part', kind: 'text' },
  { type: 'text', text: 'Größe ' },
  { type: 'text', text: '"😀"\n' },
  { type: 'annotation', annotation: citation },
  { type: 'message_end', complete: true },
  { type: 'tool_call', index: 0, id: 'call_1', kind: 'function', name: 'weather' },
  { type: 'tool_input', index: 0, text: '{"day"' },
  { type: 'tool_input', index: 0, text: ':1}' },
  { type: 'tool_end', index: 0, complete: true },
  { type: 'tool_call', index: 1, id: 'call_2', kind: 'function', name: 'weather' },
  { type: 'tool_input', index: 1, text: '{}' },
  { type: 'tool_end', index: 1, complete: true },
  { type: 'message' },
  { type: 'part', kind: 'text' },
  { type: 'text', text: 'Ende.' },
  { type: 'message_end', complete: false },
];

async function play(
  pieces: readonly (string | Buffer)[],
  call: ProviderCall = CALL,
  events: ChatEvent[] = [],
): Promise<readonly ChatEvent[]> {
  const upstream = new ScriptedTransport();
  const opened = openItemEvents({ http: upstream, endpoint: '/responses', body: '{}', call });
  opened.catch(() => undefined);
  upstream.begin();
  for (const piece of pieces) upstream.data(piece);
  upstream.end();
  await (await opened).pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() });
  return events;
}

describe('a streamed answer', () => {
  it('keeps its items, and its reasoning for the next request', async () => {
    const vault = new MemoryVault();
    const [start, ...events] = await play([stream(...RECORDED)], { ...CALL, openVault: () => vault });
    expect(start).toMatchObject({ type: 'start' });
    expect(events.slice(0, -2)).toEqual(EXPECTED);
    expect(events.slice(-2)).toMatchObject([{ type: 'finish', reason: 'length' }, { type: 'usage' }]);
    expect(JSON.parse(vault.states.get('call_1') ?? '')).toContainEqual(sealed('one'));
  });

  it('has the same items however the bytes are split', async () => {
    const recorded = Buffer.from(stream(...RECORDED));
    const whole = await play([recorded]);
    for (let split = 1; split < recorded.length; split++) {
      expect(await play([recorded.subarray(0, split), recorded.subarray(split)])).toEqual(whole);
    }
  });

  it('never ends cleanly when it is cut at any byte before its last event, and delivers what arrived', async () => {
    const recorded = Buffer.from(stream(...RECORDED));
    const whole = await play([recorded]);
    // The last event is complete without its empty line.
    const complete = recorded.length - 2;
    for (let bytes = 0; bytes < complete; bytes++) {
      const delivered: ChatEvent[] = [];
      const error = await providerErrorOf(play([recorded.subarray(0, bytes)], CALL, delivered));
      expect([bytes, error.code]).toEqual([bytes, 'provider_disconnect']);
      expect(delivered).toEqual(whole.slice(0, delivered.length));
      expect(delivered.some(({ type }) => type === 'finish')).toBe(false);
    }
    expect(await play([recorded.subarray(0, complete)])).toEqual(whole);
  });

  it('does not start with an item that has no text yet, so that a fallback is still possible', async () => {
    const error = await providerErrorOf(play([stream(...RECORDED.slice(0, 5), failed('server_error'))]));
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([
      'provider_unavailable',
      'first_token',
      true,
    ]);
  });

  it('ends calls that the upstream sends only as a whole', async () => {
    expect((await play([stream(created(), done(functionCall('a', 'f', '{}'), 0), completed())])).slice(1, 4)).toEqual([
      { type: 'tool_call', index: 0, id: 'a', kind: 'function', name: 'f' },
      { type: 'tool_input', index: 0, text: '{}' },
      { type: 'tool_end', index: 0, complete: true },
    ]);
  });
});

it('has the same items in a whole reply, with all text of a part in one piece', () => {
  const { type, url_citation: cited } = citation;
  const output: ResponseOutputItem[] = [
    reasoning('one'),
    message([outputText('Größe "😀"\n', { annotations: [{ type, ...cited }] })], 'commentary'),
    functionCall('call_1', 'weather', '{"day":1}'),
    functionCall('call_2', 'weather', '{}'),
    { ...message([outputText('Ende.')]), status: 'incomplete' },
  ];
  const reply = Buffer.from(JSON.stringify(response({ output })));
  expect(toItemEvents(fromResponsesReply(reply, CALL).output)).toEqual(joined(EXPECTED));
});

/** The same events, with adjacent pieces of text joined. */
function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const all: ChatEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const continues = last !== undefined && 'text' in last && 'text' in event && last.type === event.type;
    if (continues) all[all.length - 1] = { ...last, text: last.text + event.text };
    else all.push(event);
  }
  return all;
}
