/** Events and replies as the upstream of the dialect `anthropic-messages` writes them, in the vendor's own types. */
import type { Message, RawMessageStreamEvent, Usage } from '@anthropic-ai/sdk/resources/messages';
import type { ProviderCall } from '../../src/providers/contract/provider-call';
import type { ChatStream } from '../../src/providers/contract/chat';
import type { ChatEvent } from '../../src/providers/contract/chat-event';
import { ProviderError } from '../../src/providers/contract/provider-error';
import { openMessageStream } from '../../src/providers/dialects/anthropic-messages/message-stream';
import type { AnswerBlock } from '../../src/providers/dialects/anthropic-messages/reasoning-state';
import { providerCall } from './provider-call';
import { ScriptedTransport } from './scripted-transport';

const USAGE: Usage = {
  input_tokens: 10,
  output_tokens: 1,
  cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
  cache_creation_input_tokens: 7,
  cache_read_input_tokens: 5,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: 'standard',
  speed: null,
};

export function message(fields: Partial<Message> = {}): Message {
  return {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: 'upstream-model',
    content: [{ type: 'text', text: 'Hello', citations: null }],
    container: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: USAGE,
    ...fields,
  };
}

export const START: RawMessageStreamEvent = {
  type: 'message_start',
  message: message({ content: [], stop_reason: null }),
};
export const STOP: RawMessageStreamEvent = { type: 'message_stop' };
export const PING = { type: 'ping' } as const;

export function text(index: number, ...pieces: string[]): RawMessageStreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: null } },
    ...pieces.map((piece): RawMessageStreamEvent => {
      return { type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece } };
    }),
    { type: 'content_block_stop', index },
  ];
}

export function thinking(index: number, signature: string, ...pieces: string[]): RawMessageStreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } },
    ...pieces.map((piece): RawMessageStreamEvent => {
      return { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: piece } };
    }),
    { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } },
    { type: 'content_block_stop', index },
  ];
}

export function redacted(index: number, data: string): RawMessageStreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'redacted_thinking', data } },
    { type: 'content_block_stop', index },
  ];
}

export function toolUse(index: number, id: string, name: string, ...pieces: string[]): RawMessageStreamEvent[] {
  const caller = { type: 'direct' } as const;
  return [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {}, caller } },
    ...pieces.map((piece): RawMessageStreamEvent => {
      return { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: piece } };
    }),
    { type: 'content_block_stop', index },
  ];
}

export function finish(reason: Message['stop_reason'], fields: Partial<Message> = {}): RawMessageStreamEvent {
  return {
    type: 'message_delta',
    delta: { container: null, stop_details: null, stop_sequence: null, ...fields, stop_reason: reason },
    usage: {
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 5,
      input_tokens: 10,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
      server_tool_use: null,
    },
  };
}

export function events(...list: readonly { readonly type: string }[]): string {
  return list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** A stream whose upstream the test drives step by step. */
export function startMessage(
  call: ProviderCall = providerCall(),
  keep: (blocks: readonly AnswerBlock[]) => Promise<void> | null = () => null,
): { upstream: ScriptedTransport; opened: Promise<ChatStream> } {
  const upstream = new ScriptedTransport();
  const opened = openMessageStream({ http: upstream, endpoint: '/v1/messages', body: '{}', call }, keep);
  opened.catch(() => undefined);
  return { upstream, opened };
}

/** Collects the events of a stream; pieces of the same text that arrive separately are joined. */
export class CollectedEvents {
  readonly list: ChatEvent[] = [];

  write(list: readonly ChatEvent[]): boolean {
    for (const event of list) this.add(event);
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  private add(event: ChatEvent): void {
    const last = this.list.at(-1);
    const joins =
      last !== undefined &&
      'text' in last &&
      'text' in event &&
      last.type === event.type &&
      indexOf(last) === indexOf(event);
    if (joins) this.list[this.list.length - 1] = { ...last, text: last.text + event.text };
    else this.list.push(event);
  }
}

function indexOf(event: ChatEvent): number | undefined {
  return 'index' in event ? event.index : undefined;
}

/** Plays a whole stream, in pieces. */
export async function playMessage(
  ...pieces: readonly (string | Buffer)[]
): Promise<{ stream: ChatStream; list: readonly ChatEvent[]; failure: ProviderError | null }> {
  const { upstream, opened } = startMessage();
  const sink = new CollectedEvents();
  upstream.begin();
  for (const piece of pieces) upstream.data(piece);
  upstream.end();
  const stream = await opened;
  try {
    await stream.pipe(sink);
  } catch (error) {
    if (error instanceof ProviderError) return { stream, list: sink.list, failure: error };
    throw error;
  }
  return { stream, list: sink.list, failure: null };
}
