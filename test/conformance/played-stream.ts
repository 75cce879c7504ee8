import type { ProviderCall } from '../../src/providers/contract/provider-call';
import { ProviderError } from '../../src/providers/contract/provider-error';
import { chatChunks, RenderedStream } from '../../src/chat/chat-chunks';
import type { ChunkStream } from '../../src/providers/contract/chat';
import { openChatChunks, openChatEvents } from '../../src/providers/dialects/openai-chat/chat-stream';
import type { StreamTransport } from '../../src/providers/kit/upstream-stream';
import { chunk } from './chat-chunks';
import { CollectingSink, providerCall } from './provider-call';
import { ScriptedTransport } from './scripted-transport';

export const FIRST = chunk({ role: 'assistant', content: '' });
export const TEXT = chunk({ content: 'Hi' });
export const FINISH = chunk({}, { finish_reason: 'stop' });
export const USAGE = { ...FINISH, choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } };

/** What the dialect hands over: its own chunks, or events that are rendered to chunks here. */
export type Output = 'chunks' | 'events';
export const OUTPUTS: readonly Output[] = ['chunks', 'events'];

/** A stream whose upstream the test drives step by step. */
export function startStream(
  call: ProviderCall = providerCall(),
  output: Output = 'chunks',
): {
  upstream: ScriptedTransport;
  opened: Promise<ChunkStream>;
  sink: CollectingSink;
} {
  const upstream = new ScriptedTransport();
  const opened = open(upstream, call, output);
  opened.catch(() => undefined);
  return { upstream, opened, sink: new CollectingSink() };
}

async function open(http: StreamTransport, call: ProviderCall, output: Output): Promise<ChunkStream> {
  const request = { http, endpoint: '/chat/completions', body: '{}', call };
  if (output === 'chunks') return openChatChunks(request);
  return new RenderedStream(await openChatEvents(request), chatChunks(call.publicModel));
}

/** Plays a whole stream, in pieces. */
export async function playStream(
  pieces: readonly (string | Buffer)[],
  call?: ProviderCall,
  output?: Output,
): Promise<{ stream: ChunkStream; sink: CollectingSink; failure: ProviderError | null }> {
  const { upstream, opened, sink } = startStream(call, output);
  upstream.begin();
  for (const piece of pieces) upstream.data(piece);
  upstream.end();
  const stream = await opened;
  try {
    await stream.pipe(sink);
  } catch (error) {
    if (error instanceof ProviderError) return { stream, sink, failure: error };
    throw error;
  }
  return { stream, sink, failure: null };
}
