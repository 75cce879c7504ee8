/** The failures of providers that a gateway must survive, and the sound behaviour. */
import type { ServerResponse } from 'node:http';
import { chunk, event, usageChunk } from '../harness/upstream-models';
import { type Behaviour, type ProviderCall, sendJson } from './scripted-provider';

/** Usage that every sound answer reports. */
export const USAGE = { prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 };
/** Far more than `max_tokens` of the request permits. */
const IMPOSSIBLE_TOKENS = 50_000_000;
const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

/** The text names the provider, so that any client sees which one served. */
const words = (provider: string): readonly string[] => ['answered ', 'by ', 'the ', `${provider} `, 'provider'];

/** A complete, correct answer. */
export const sound: Behaviour = (reply, call) => answer(reply, call, USAGE);

export const refuses =
  (status: number, headers: Readonly<Record<string, string>> = {}, type = 'server_error'): Behaviour =>
  (reply) => {
    for (const [name, value] of Object.entries(headers)) reply.setHeader(name, value);
    sendJson(reply, status, { error: { message: `scripted ${status}`, type, code: null } });
  };

/** Closes the connection with a reset after the request was read. */
export const resets: Behaviour = (reply) => {
  reply.socket?.resetAndDestroy();
};

/** Accepts the call and never sends a byte. */
export const hangs: Behaviour = () => undefined;

/** Sends the headers, then nothing. */
export const neverBegins: Behaviour = (reply) => {
  reply.writeHead(200, STREAM_HEADERS).flushHeaders();
};

/** Sends some text, then resets the connection. */
export const cuts: Behaviour = (reply, call) => {
  begin(reply, call, () => reply.socket?.resetAndDestroy());
};

/** Sends some text, then nothing more, with the connection open. */
export const stalls: Behaviour = (reply, call) => begin(reply, call, () => undefined);

/** Resets the connection after the headers of a stream. */
export const cutsBeforeText: Behaviour = (reply) => {
  reply.writeHead(200, STREAM_HEADERS).flushHeaders();
  setImmediate(() => reply.socket?.resetAndDestroy());
};

/** Status 200 with text that is neither JSON nor a stream. */
export const garbles: Behaviour = (reply, { streamed }) => {
  reply.writeHead(200, streamed ? STREAM_HEADERS : { 'content-type': 'application/json' });
  reply.end(streamed ? 'data: {"choices":[{]}\n\ndata: <html>\n\n' : '<html>502 from a proxy</html>');
};

/** Status 200 and not one event. */
export const sendsNothing: Behaviour = (reply) => {
  reply.writeHead(200, STREAM_HEADERS).end();
};

/** Status 200, and the first event of the stream is an error. */
export const failsInFirstEvent: Behaviour = (reply) => {
  reply.writeHead(200, STREAM_HEADERS).end(event({ error: { code: 503, message: 'overloaded' } }));
};

/** An error event after some text. */
export const failsInStream: Behaviour = (reply, call) => {
  begin(reply, call, () => reply.end(event({ error: { code: 503, message: 'overloaded' } })));
};

export const overstatesUsage: Behaviour = (reply, call) =>
  answer(reply, call, { ...USAGE, completion_tokens: IMPOSSIBLE_TOKENS, total_tokens: IMPOSSIBLE_TOKENS });

export const omitsUsage: Behaviour = (reply, call) => answer(reply, call, null);

/** A sound answer that begins late. */
export const soundAfter =
  (delayMs: number): Behaviour =>
  (reply, call) => {
    setTimeout(() => sound(reply, call), delayMs);
  };

/** Alternates between two behaviours, some calls each. */
export const alternates =
  (one: Behaviour, other: Behaviour, callsEach: number): Behaviour =>
  (reply, call) =>
    (Math.floor(call.index / callsEach) % 2 === 0 ? one : other)(reply, call);

function answer(reply: ServerResponse, { streamed, provider }: ProviderCall, usage: typeof USAGE | null): void {
  if (!streamed) {
    const message = { role: 'assistant', content: words(provider).join('') };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    sendJson(reply, 200, { id: 'c', object: 'chat.completion', created: 1, model: 'scorecard', choices, usage });
    return;
  }
  reply.writeHead(200, STREAM_HEADERS);
  for (const content of words(provider)) reply.write(chunk({ role: 'assistant', content }));
  const counted = usage === null ? '' : usageChunk(usage.prompt_tokens, usage.completion_tokens);
  reply.end(chunk({}, 'stop') + counted + event('[DONE]'));
}

/** The first words of a stream; what follows comes after the reader has had time to see them. */
function begin(reply: ServerResponse, { provider }: ProviderCall, next: () => void): void {
  reply.writeHead(200, STREAM_HEADERS);
  reply.write(
    words(provider)
      .map((content) => chunk({ role: 'assistant', content }))
      .join(''),
  );
  setTimeout(next, 50);
}
