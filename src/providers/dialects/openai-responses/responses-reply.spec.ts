import type { Response, ResponseError, ResponseUsage } from 'openai/resources/responses/responses';
import { providerCall } from '../../../../test/conformance/provider-call';
import {
  functionCall,
  message,
  outputText,
  reasoning,
  response,
  USAGE,
} from '../../../../test/conformance/upstream-responses';
import { NO_USAGE } from '../../contract/usage';
import { ProviderError } from '../../contract/provider-error';
import { fromResponsesReply } from './responses-reply';

const convert = (overrides: Partial<Response>) =>
  fromResponsesReply(Buffer.from(JSON.stringify(response(overrides))), providerCall()).result;
const choiceOf = (overrides: Partial<Response>) => convert(overrides).body.choices[0];

function errorOf(read: () => unknown): ProviderError {
  try {
    read();
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  throw new Error('expected a ProviderError');
}

it('converts text, reasoning, calls, citations and usage to a chat completion', () => {
  const citation = {
    type: 'url_citation' as const,
    url: 'https://a.example',
    title: 'A',
    start_index: 0,
    end_index: 2,
  };
  const { body, usage, outputBytes } = convert({
    service_tier: 'default',
    output: [
      reasoning('sealed', ['First.', 'Then.']),
      message([outputText('Größe '), outputText('da.', { annotations: [citation] })]),
      functionCall('call_1', 'weather', '{"city":"Rom"}'),
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'sql', input: 'select 1' },
    ],
  });
  expect(body).toEqual({
    id: 'chatcmpl-up',
    object: 'chat.completion',
    created: 1700000000,
    model: 'vendor/public-model',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Größe da.',
          refusal: null,
          reasoning_content: 'First.\n\nThen.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rom"}' } },
            { id: 'call_2', type: 'custom', custom: { name: 'sql', input: 'select 1' } },
          ],
          annotations: [
            {
              type: 'url_citation',
              url_citation: { url: 'https://a.example', title: 'A', start_index: 6, end_index: 8 },
            },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    system_fingerprint: null,
    service_tier: 'default',
  });
  expect(usage).toEqual({
    ...NO_USAGE,
    inputText: 16,
    inputCacheRead: 10,
    inputCacheWrite5m: 4,
    outputText: 7,
    outputReasoning: 5,
  });
  expect(outputBytes).toBe(Buffer.byteLength('Größe da.First.\n\nThen.{"city":"Rom"}select 1'));
});

it('skips a byte order mark', () => {
  const reply = Buffer.from(`\uFEFF${JSON.stringify(response({ output: [message([outputText('a')])] }))}`);
  expect(fromResponsesReply(reply, providerCall()).result.body.choices[0]).toMatchObject({ message: { content: 'a' } });
});

it('converts a refusal', () => {
  expect(choiceOf({ output: [message([{ type: 'refusal', refusal: 'No.' }])] })).toMatchObject({
    message: { content: null, refusal: 'No.' },
    finish_reason: 'stop',
  });
});

it('converts log probabilities', () => {
  const logprobs = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] }];
  expect(choiceOf({ output: [message([outputText('Hi', { logprobs })])] })).toMatchObject({
    logprobs: { content: logprobs, refusal: null },
  });
});

it.each([
  ['max_output_tokens', 'length'],
  ['max_messages', 'length'],
  ['content_filter', 'content_filter'],
  ['steered', 'stop'],
] as const)('reports a response that is incomplete because of %s as %s', (reason, expected) => {
  const output = [message([outputText('Half an ans')])];
  expect(choiceOf({ status: 'incomplete', incomplete_details: { reason }, output })).toMatchObject({
    message: { content: 'Half an ans' },
    finish_reason: expected,
  });
});

it.each<[string, Partial<ResponseUsage> | undefined, object | null]>([
  ['none', undefined, null],
  ['negative counts', { input_tokens: -1 }, null],
  [
    'no details',
    { input_tokens_details: undefined, output_tokens_details: undefined },
    { inputText: 30, outputText: 12 },
  ],
  [
    'cache writes of both lifetimes',
    {
      input_tokens_details: {
        cached_tokens: 10,
        cache_write_tokens: 9,
        cache_write_tokens_details: { ttl_30m_tokens: 4, ttl_12h_tokens: 5 },
      },
    },
    {
      inputText: 11,
      inputCacheRead: 10,
      inputCacheWrite5m: 4,
      inputCacheWrite1h: 5,
      outputText: 7,
      outputReasoning: 5,
    },
  ],
  [
    'more reasoning than output',
    { output_tokens_details: { reasoning_tokens: 99 } },
    { inputText: 16, inputCacheRead: 10, inputCacheWrite5m: 4, outputReasoning: 12 },
  ],
])('converts usage with %s', (_name, overrides, expected) => {
  const usage = overrides && { ...USAGE, ...overrides };
  expect(convert({ usage }).usage).toEqual(expected && { ...NO_USAGE, ...expected });
});

it.each<[ResponseError['code'], string, boolean]>([
  ['rate_limit_exceeded', 'provider_rate_limited', true],
  ['server_error', 'provider_unavailable', true],
  ['vector_store_timeout', 'provider_timeout', true],
  ['data_residency_mismatch', 'provider_error', true],
  ['invalid_prompt', 'validation_failed', false],
  ['bio_policy', 'validation_failed', false],
  ['image_content_policy_violation', 'validation_failed', false],
  ['image_too_large', 'validation_failed', false],
  ['failed_to_download_image', 'validation_failed', false],
])('maps a response that failed with %s to %s', (code, expected, fallback) => {
  const error = errorOf(() => convert({ status: 'failed', error: { code, message: 'org-Secret123' } }));
  expect([error.code, error.options.fallback]).toEqual([expected, fallback]);
  expect(error.options.details?.['reason']).toBe(/policy|prompt/.test(code) ? 'content_filtered' : undefined);
  expect(error.message).not.toContain('Secret');
});

it.each([
  ['text that is not JSON', '<html>'],
  ['a list', '[]'],
  ['a chat completion', '{"choices":[]}'],
  ['a response that has not ended', JSON.stringify(response({ status: 'in_progress' }))],
  ['a canceled response', JSON.stringify(response({ status: 'cancelled' }))],
  ['a call without an id', JSON.stringify(response({ output: [functionCall('', 'f', '{}')] }))],
])('refuses %s as a response', (_name, text) => {
  const error = errorOf(() => fromResponsesReply(Buffer.from(text), providerCall()));
  expect([error.code, error.options.fallback]).toEqual(['provider_error', true]);
});
