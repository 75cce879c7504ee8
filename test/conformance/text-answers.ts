import { chunk, sse } from './chat-chunks';
import type { Answer } from './fake-upstream';
import { events, finish, message, START, STOP, text } from './message-events';

/** Responses of an upstream in its format; absent for what it does not serve. */
export interface TextAnswers {
  readonly reply?: Answer;
  readonly stream?: Answer;
  readonly completion?: Answer;
  readonly completionStream?: Answer;
  /** The vectors (0.6, 0.8) and (1, 0). */
  readonly embeddings?: Answer;
  readonly rateLimit?: Answer;
}

export const OPENAI_ANSWERS: TextAnswers = {
  reply: (response) =>
    response.end(
      JSON.stringify({
        id: 'chatcmpl-up',
        created: 1700000000,
        model: 'upstream-model',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      }),
    ),
  stream: (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        sse(
          chunk({ role: 'assistant', content: '' }),
          chunk({ content: 'Hel' }),
          chunk({ content: 'lo' }),
          chunk({}, { finish_reason: 'stop' }),
          { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
          '[DONE]',
        ),
      ),
  completion: (response) =>
    response.end(
      JSON.stringify({
        model: 'upstream-model',
        choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      }),
    ),
  completionStream: (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        sse(
          { id: 'cmpl-up', model: 'upstream-model', choices: [{ index: 0, text: 'Hel', finish_reason: null }] },
          { id: 'cmpl-up', model: 'upstream-model', choices: [{ index: 0, text: 'lo', finish_reason: 'stop' }] },
          { choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
          '[DONE]',
        ),
      ),
  embeddings: (response) =>
    response.end(
      JSON.stringify({
        data: [
          { index: 1, embedding: [1, 0] },
          { index: 0, embedding: [0.6, 0.8] },
        ],
        model: 'upstream-model',
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    ),
  rateLimit: (response) => response.writeHead(429, { 'retry-after': '7' }).end('{"error":{"message":"org-Secret123"}}'),
};

const responseOf = (status: string, output: readonly object[] = []): object => ({
  id: 'resp_up',
  object: 'response',
  created_at: 1700000000,
  model: 'upstream-model',
  status,
  output,
  usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
});
const HELLO = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };

export const RESPONSES_ANSWERS: TextAnswers = {
  reply: (response) => response.end(JSON.stringify(responseOf('completed', [HELLO]))),
  stream: (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        sse(
          { type: 'response.created', response: responseOf('in_progress') },
          { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hel' },
          { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'lo' },
          { type: 'response.completed', response: responseOf('completed', [HELLO]) },
        ),
      ),
  rateLimit: (response) => response.writeHead(429, { 'retry-after': '7' }).end('{"error":{"message":"org-Secret123"}}'),
};

const GEMINI_USAGE = { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 };
const piece = (text: string, rest: object = {}): object => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...rest }],
  usageMetadata: GEMINI_USAGE,
  modelVersion: 'upstream-model',
  responseId: 'up',
});

export const GEMINI_ANSWERS: TextAnswers = {
  reply: (response) => response.end(JSON.stringify(piece('Hello', { finishReason: 'STOP' }))),
  stream: (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(sse(piece('Hel'), piece('lo', { finishReason: 'STOP' }))),
  embeddings: (response) =>
    response.end(
      JSON.stringify({
        embeddings: [{ values: [0.6, 0.8] }, { values: [1, 0] }],
        usageMetadata: { promptTokenCount: 3 },
      }),
    ),
  rateLimit: (response) =>
    response.writeHead(429).end(
      JSON.stringify({
        error: {
          code: 429,
          message: 'Quota of org-Secret123 exceeded.',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '6.5s' }],
        },
      }),
    ),
};

export const ANTHROPIC_ANSWERS: TextAnswers = {
  reply: (response) => response.end(JSON.stringify(message())),
  stream: (response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(events(START, ...text(0, 'Hel', 'lo'), finish('end_turn'), STOP)),
  rateLimit: (response) =>
    response
      .writeHead(429, {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': new Date(Date.now() + 6_500).toISOString(),
      })
      .end('{"type":"error","error":{"type":"rate_limit_error","message":"org-Secret123 has sent too much"}}'),
};
