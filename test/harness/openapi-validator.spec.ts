import { findOperation, openapiDocument, operationsOf } from './openapi-document';
import { assertMatchesDocument, type ObservedReply } from './openapi-validator';

const REQUEST_ID = `req_${'0'.repeat(32)}`;

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'mock/chat-1',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'hi', refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  system_fingerprint: null,
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, x_llm_cost_micro: 3 },
};

const chunk = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'mock/chat-1',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }],
};

function chatReply(overrides: Partial<ObservedReply> = {}): ObservedReply {
  return {
    method: 'POST',
    path: '/v1/chat/completions',
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': REQUEST_ID,
      'x-llm-model': 'mock/chat-1',
      'x-llm-cost-micro': '3',
    },
    body: JSON.stringify(completion),
    ...overrides,
  };
}

function streamReply(...events: readonly string[]): ObservedReply {
  const { headers } = chatReply();
  const body = [': ping', ...events.map((event) => `data: ${event}`), ''].join('\n\n');
  return chatReply({ headers: { ...headers, 'content-type': 'text/event-stream' }, body });
}

function errorReply(code: string, type: string, overrides: Partial<ObservedReply> = {}): ObservedReply {
  return chatReply({
    status: 404,
    headers: { 'content-type': 'application/json', 'x-request-id': REQUEST_ID, 'x-should-retry': 'false' },
    body: JSON.stringify({ error: { type, code, message: 'No.', request_id: REQUEST_ID } }),
    ...overrides,
  });
}

describe('assertMatchesDocument', () => {
  it.each<[string, ObservedReply]>([
    ['a completion', chatReply()],
    ['a stream', streamReply(JSON.stringify(chunk), '[DONE]')],
    ['an error', errorReply('model_not_found', 'not_found_error')],
    ['an error on an unknown route', errorReply('not_found', 'not_found_error', { path: '/nowhere' })],
    ['a stream that the test aborted', { ...streamReply(JSON.stringify(chunk)), aborted: true }],
  ])('accepts %s as documented', (_name, reply) => {
    expect(() => assertMatchesDocument(reply)).not.toThrow();
  });

  it.each<[string, ObservedReply, RegExp]>([
    [
      'a missing required header',
      chatReply({ headers: { 'content-type': 'application/json' } }),
      /X-Request-Id is missing/,
    ],
    ['a missing field', chatReply({ body: '{}' }), /required property 'usage'/],
    ['a body that is not JSON', chatReply({ body: 'oops' }), /not JSON/],
    ['an undocumented status', chatReply({ status: 418 }), /does not document status 418/],
    ['an undocumented content type', chatReply({ headers: { 'content-type': 'text/html' } }), /'text\/html'/],
    ['a code of another status', errorReply('key_expired', 'authentication_error'), /envelope says 401/],
    ['a code of another type', errorReply('not_found', 'conflict_error'), /does not go with type/],
    ['a request id that differs', errorReply('not_found', 'not_found_error', { headers: {} }), /x-request-id/i],
    ['usage: null in a chunk', streamReply(JSON.stringify({ ...chunk, usage: null }), '[DONE]'), /event 0\/usage/],
    ['a stream without [DONE]', streamReply(JSON.stringify(chunk)), /\[DONE\]/],
    ['a stream that continues after [DONE]', streamReply('[DONE]', JSON.stringify(chunk)), /\[DONE\]/],
    ['a page on an unknown route', chatReply({ path: '/nowhere', status: 404, body: '<html>' }), /not JSON/],
  ])('refuses %s', (_name, reply, message) => {
    expect(() => assertMatchesDocument(reply)).toThrow(message);
  });
});

describe('findOperation', () => {
  const document = openapiDocument();

  it.each([
    ['GET', '/v1/models', 'listModels'],
    ['GET', '/v1/models?modality=image', 'listModels'],
    ['GET', '/v1/models/mock/chat-1', 'getModel'],
    ['GET', '/v1/models/mock%2Fchat-1', 'getModel'],
    ['DELETE', '/v1/video/generations/42', 'deleteVideo'],
    ['GET', '/health', 'getHealth'],
  ])('maps %s %s to %s', (method, path, operationId) => {
    expect(findOperation(document, method, path)?.operationId).toBe(operationId);
  });

  it('finds nothing for another method or a longer path', () => {
    expect(findOperation(document, 'PUT', '/v1/models')).toBeUndefined();
    expect(findOperation(document, 'GET', '/v1/jobs/1/2')).toBeUndefined();
  });

  it('lists each operation once', () => {
    const ids = operationsOf(document).map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(24);
  });
});
