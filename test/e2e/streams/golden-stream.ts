import { chunk, event, usageChunk } from '../../harness/upstream-models';

/** The bytes of one step of the stream. */
export interface GoldenEvent {
  readonly bytes: Buffer;
  /** The response text that a client has read after the event. */
  readonly text: string;
  readonly toolArguments: string;
  readonly finished: boolean;
}

/** Usage in the usage chunk: 1 micro-unit per input token, 2 per output token. */
export const GOLDEN_COST_MICRO = 11 + 2 * 7;

/**
 * A complete stream with everything that a cut can split: multi-byte characters, escapes, comments, reasoning, tool
 * calls, a usage chunk. Text chunks repeat their form, so that the gateway forwards the later ones by template.
 */
export function goldenStream(lineEnd: '\n' | '\r\n'): readonly GoldenEvent[] {
  const events: GoldenEvent[] = [];
  let text = '';
  let toolArguments = '';
  let finished = false;
  const add = (frame: string): void => {
    events.push({ bytes: Buffer.from(frame.replaceAll('\n', lineEnd)), text, toolArguments, finished });
  };
  add(': connected\n\n');
  add(chunk({ role: 'assistant', content: '' }));
  for (const word of ['Grüße', ' 日本語', ' 😀👩‍👩‍👧', '\t"x"\\', ' ende']) {
    text += word;
    add(chunk({ content: word }));
  }
  add(': keep-alive\n\n');
  add(chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] }));
  for (const part of ['{"ort":"', 'Zürich"}']) {
    toolArguments += part;
    add(chunk({ tool_calls: [{ index: 0, function: { arguments: part } }] }));
  }
  finished = true;
  add(chunk({}, 'tool_calls'));
  add(usageChunk(11, 7));
  add(event('[DONE]'));
  return events;
}
