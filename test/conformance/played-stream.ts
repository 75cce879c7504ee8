import type { ProviderCall } from '../../src/providers/contract/provider-call';
import { ProviderError } from '../../src/providers/contract/provider-error';
import { OpenAiChatStream } from '../../src/providers/dialects/openai-chat/openai-chat-stream';
import { chunk } from './chat-chunks';
import { CollectingSink, providerCall } from './provider-call';
import { ScriptedTransport } from './scripted-transport';

export const FIRST = chunk({ role: 'assistant', content: '' });
export const TEXT = chunk({ content: 'Hi' });
export const FINISH = chunk({}, { finish_reason: 'stop' });
export const USAGE = { ...FINISH, choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } };

/** A stream whose upstream the test drives step by step. */
export function startStream(call: ProviderCall = providerCall()): {
  upstream: ScriptedTransport;
  opened: Promise<OpenAiChatStream>;
  sink: CollectingSink;
} {
  const upstream = new ScriptedTransport();
  const opened = OpenAiChatStream.open(upstream, '/chat/completions', '{}', call);
  opened.catch(() => undefined);
  return { upstream, opened, sink: new CollectingSink() };
}

/** Plays a whole stream, in pieces. */
export async function playStream(
  pieces: readonly (string | Buffer)[],
  call?: ProviderCall,
): Promise<{ stream: OpenAiChatStream; sink: CollectingSink; failure: ProviderError | null }> {
  const { upstream, opened, sink } = startStream(call);
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
