import { chunk, event, usageChunk } from '../../harness/upstream-models';

export const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What a client has read of a response. */
export interface Delivered {
  readonly text: string;
  readonly reasoning: string;
  readonly toolArguments: string;
  readonly finished: boolean;
}

/** The bytes of one step of the stream, and what a client has read after it. */
export interface GoldenEvent extends Delivered {
  readonly bytes: Buffer;
}

const INPUT_TOKENS = 11;
const OUTPUT_TOKENS = 7;
/** Usage that the stream reports: 1 micro-unit per input token, 2 per output token. */
export const GOLDEN_COST_MICRO = INPUT_TOKENS + 2 * OUTPUT_TOKENS;

const THOUGHTS = ['Größe', '?'];
/** Text chunks repeat their form, so that the gateway forwards the later ones by template. */
const WORDS = ['Grüße', ' 日本語', ' 😀👩‍👩‍👧', '\t"x"\\', ' ende'];
const ARGUMENTS = ['{"ort":"', 'Zürich"}'];

/**
 * A complete stream of each dialect with everything that a cut can split: multi-byte characters, escapes, comments,
 * reasoning, tool calls, usage.
 */
export function goldenStream(dialect: Dialect, lineEnd: '\n' | '\r\n'): readonly GoldenEvent[] {
  const recording = new Recording(lineEnd);
  recording.add(': connected\n\n');
  RECORD[dialect](recording);
  return recording.events;
}

class Recording {
  readonly events: GoldenEvent[] = [];
  private delivered: Delivered = { text: '', reasoning: '', toolArguments: '', finished: false };

  constructor(private readonly lineEnd: string) {}

  /** @param written what a client reads more after the frame */
  add(frame: string, written: Partial<Delivered> = {}): void {
    const { text, reasoning, toolArguments, finished } = this.delivered;
    this.delivered = {
      text: text + (written.text ?? ''),
      reasoning: reasoning + (written.reasoning ?? ''),
      toolArguments: toolArguments + (written.toolArguments ?? ''),
      finished: finished || written.finished === true,
    };
    this.events.push({ bytes: Buffer.from(frame.replaceAll('\n', this.lineEnd)), ...this.delivered });
  }

  /** An event whose line names its type too. */
  addTyped(type: string, fields: object, written?: Partial<Delivered>): void {
    this.add(`event: ${type}\n${event({ type, ...fields })}`, written);
  }
}

const RECORD: Readonly<Record<Dialect, (stream: Recording) => void>> = {
  'openai-chat': (stream) => {
    stream.add(chunk({ role: 'assistant', content: '' }));
    for (const text of WORDS) stream.add(chunk({ content: text }), { text });
    stream.add(': keep-alive\n\n');
    stream.add(
      chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] }),
    );
    for (const toolArguments of ARGUMENTS) {
      stream.add(chunk({ tool_calls: [{ index: 0, function: { arguments: toolArguments } }] }), { toolArguments });
    }
    stream.add(chunk({}, 'tool_calls'), { finished: true });
    stream.add(usageChunk(INPUT_TOKENS, OUTPUT_TOKENS));
    stream.add(event('[DONE]'));
  },

  'openai-responses': (stream) => {
    const usage = { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS };
    const add = (name: string, place: number, fields: object, written?: Partial<Delivered>): void =>
      stream.addTyped(`response.${name}`, { output_index: place, ...fields }, written);
    add('created', 0, { response: { id: 'resp_1', created_at: 1 } });
    for (const delta of THOUGHTS) add('reasoning_summary_text.delta', 0, { delta }, { reasoning: delta });
    add('output_item.added', 1, { item: { type: 'message' } });
    for (const delta of WORDS) add('output_text.delta', 1, { delta }, { text: delta });
    add('output_item.done', 1, { item: { type: 'message', status: 'completed' } });
    const call = { type: 'function_call', call_id: 'call_1', name: 'f' };
    add('output_item.added', 2, { item: call });
    for (const delta of ARGUMENTS) add('function_call_arguments.delta', 2, { delta }, { toolArguments: delta });
    add('output_item.done', 2, { item: { ...call, arguments: ARGUMENTS.join('') } });
    add('completed', 0, { response: { status: 'completed', usage } }, { finished: true });
  },

  'anthropic-messages': (stream) => {
    const add = (type: string, fields: object, written?: Partial<Delivered>): void =>
      stream.addTyped(type, fields, written);
    const block = (index: number, begun: object, deltas: readonly (readonly [object, Partial<Delivered>])[]): void => {
      add('content_block_start', { index, content_block: begun });
      for (const [delta, written] of deltas) add('content_block_delta', { index, delta }, written);
      add('content_block_stop', { index });
    };
    add('message_start', { message: { id: 'msg_1', usage: { input_tokens: INPUT_TOKENS, output_tokens: 1 } } });
    const thoughts = THOUGHTS.map((text) => [{ type: 'thinking_delta', thinking: text }, { reasoning: text }] as const);
    block(0, { type: 'thinking', thinking: '' }, [...thoughts, [{ type: 'signature_delta', signature: 'c2ln' }, {}]]);
    add('ping', {});
    block(
      1,
      { type: 'text', text: '' },
      WORDS.map((text) => [{ type: 'text_delta', text }, { text }]),
    );
    block(
      2,
      { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      ARGUMENTS.map((json) => [{ type: 'input_json_delta', partial_json: json }, { toolArguments: json }]),
    );
    const usage = { output_tokens: OUTPUT_TOKENS };
    add('message_delta', { delta: { stop_reason: 'tool_use' }, usage }, { finished: true });
    add('message_stop', {});
  },

  'gemini-generate': (stream) => {
    let written = 0;
    const add = (part: object, delivered: Partial<Delivered>, finish: object = {}): void => {
      const counts = { promptTokenCount: INPUT_TOKENS, candidatesTokenCount: ++written };
      const candidates = [{ content: { role: 'model', parts: [part] }, ...finish }];
      stream.add(event({ candidates, usageMetadata: counts, responseId: 'r1' }), delivered);
    };
    add({ text: THOUGHTS.join(''), thought: true }, { reasoning: THOUGHTS.join('') });
    for (const text of WORDS.slice(1)) add({ text }, { text });
    const args = { ort: 'Zürich' };
    add({ functionCall: { id: 'call_1', name: 'f', args } }, { toolArguments: JSON.stringify(args) });
    add({ text: '' }, { finished: true }, { finishReason: 'STOP' });
  },
};
