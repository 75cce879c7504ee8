/** How vendors refuse a request, in the wire format of each dialect. */
import type { Dialect } from '../e2e/streams/golden-stream';

export interface Refusal {
  readonly status: number;
  readonly body: object;
}

/** What the client and the operator get for a refusal. */
interface Consequence {
  /** Status and code of the gateway's error. */
  readonly status: number;
  readonly code: string;
  /** Whether the operator has to act. */
  readonly alarm?: true;
  /** Part of the message. */
  readonly words?: string;
}

interface RefusalCase extends Consequence {
  readonly name: string;
  readonly wire: Readonly<Record<Dialect, Refusal>>;
}

/** https://platform.claude.com/docs/en/api/errors */
const anthropic = (status: number, type: string, message: string): Refusal => ({
  status,
  body: { type: 'error', error: { type, message }, request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy' },
});
/** `google.rpc.Status` (https://cloud.google.com/apis/design/errors). */
const google = (status: number, name: string, message: string, details: readonly object[] = []): Refusal => ({
  status,
  body: { error: { code: status, message, status: name, details } },
});
/** https://developers.openai.com/api/docs/guides/error-codes; the same in chat completions and Responses. */
const openAi = (status: number, type: string, code: string | null, message: string) => {
  const refusal: Refusal = { status, body: { error: { message, type, param: null, code } } };
  return { 'openai-chat': refusal, 'openai-responses': refusal };
};

const REFUSED_ACCOUNT = { status: 502, code: 'provider_error', alarm: true } as const;
const REFUSED_REQUEST = { status: 400, code: 'validation_failed' };
const UNAVAILABLE = { status: 503, code: 'provider_unavailable' };

/** @param aside ends every message: what only a vendor may repeat */
export function refusalCases(aside: string): RefusalCase[] {
  const say = (message: string): string => `${message} ${aside}`;
  return [
    {
      name: 'an invalid request',
      ...REFUSED_REQUEST,
      wire: {
        ...openAi(400, 'invalid_request_error', 'invalid_value', say('Invalid value.')),
        'anthropic-messages': anthropic(400, 'invalid_request_error', say('messages: at least one is required.')),
        'gemini-generate': google(400, 'INVALID_ARGUMENT', say('Request contains an invalid argument.')),
      },
    },
    {
      name: 'a wrong key',
      ...REFUSED_ACCOUNT,
      wire: {
        ...openAi(401, 'invalid_request_error', 'invalid_api_key', say('Incorrect API key provided.')),
        'anthropic-messages': anthropic(401, 'authentication_error', say('invalid x-api-key')),
        // https://ai.google.dev/gemini-api/docs/troubleshooting
        'gemini-generate': google(400, 'INVALID_ARGUMENT', say('API key not valid.'), [{ reason: 'API_KEY_INVALID' }]),
      },
    },
    {
      name: 'a key without permission',
      ...REFUSED_ACCOUNT,
      wire: {
        ...openAi(403, 'invalid_request_error', null, say('Project does not have access.')),
        'anthropic-messages': anthropic(403, 'permission_error', say('Your API key does not have permission.')),
        'gemini-generate': google(403, 'PERMISSION_DENIED', say('Permission denied.')),
      },
    },
    {
      name: 'an empty account',
      ...REFUSED_ACCOUNT,
      wire: {
        ...openAi(429, 'insufficient_quota', 'insufficient_quota', say('You exceeded your current quota.')),
        'anthropic-messages': anthropic(402, 'billing_error', say('There is an issue with your billing.')),
        // https://github.com/continuedev/continue/issues/12205
        'gemini-generate': google(429, 'RESOURCE_EXHAUSTED', say('Quota exceeded, limit: 0, model: gemini.')),
      },
    },
    {
      name: 'a model that the vendor does not have',
      status: 502,
      code: 'provider_error',
      wire: {
        ...openAi(404, 'invalid_request_error', 'model_not_found', say('The model does not exist.')),
        'anthropic-messages': anthropic(404, 'not_found_error', say('model: one')),
        'gemini-generate': google(404, 'NOT_FOUND', say('models/one is not found for API version v1beta.')),
      },
    },
    {
      name: 'a prompt that is too long',
      ...REFUSED_REQUEST,
      words: 'maximum context length',
      wire: {
        ...openAi(
          400,
          'invalid_request_error',
          'context_length_exceeded',
          say("This model's maximum context length is 8192 tokens."),
        ),
        'anthropic-messages': anthropic(
          400,
          'invalid_request_error',
          say('prompt is too long: 208310 tokens > 200000 maximum'),
        ),
        // https://github.com/google-gemini/gemini-cli/issues/4231
        'gemini-generate': google(
          400,
          'INVALID_ARGUMENT',
          say('The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).'),
        ),
      },
    },
    {
      name: 'a body that is too large',
      ...REFUSED_REQUEST,
      wire: {
        ...openAi(413, 'invalid_request_error', null, say('Request body is too large.')),
        'anthropic-messages': anthropic(413, 'request_too_large', say('Request exceeds the maximum size')),
        'gemini-generate': google(
          400,
          'INVALID_ARGUMENT',
          say('Request payload size exceeds the limit: 20971520 bytes.'),
        ),
      },
    },
    {
      name: 'a failure of its own',
      ...UNAVAILABLE,
      wire: {
        ...openAi(500, 'server_error', null, say('The server had an error.')),
        'anthropic-messages': anthropic(500, 'api_error', say('Internal server error')),
        'gemini-generate': google(500, 'INTERNAL', say('An internal error has occurred.')),
      },
    },
    {
      name: 'an overload',
      ...UNAVAILABLE,
      wire: {
        ...openAi(503, 'service_unavailable_error', 'server_is_overloaded', say('The server is overloaded.')),
        'anthropic-messages': anthropic(529, 'overloaded_error', say('Overloaded')),
        'gemini-generate': google(503, 'UNAVAILABLE', say('The model is overloaded.')),
      },
    },
  ];
}

/** A rate limit that ends in seven seconds, as each vendor says it. */
export const RATE_LIMIT: Readonly<Record<Dialect, Refusal>> = {
  ...openAi(429, 'requests', 'rate_limit_exceeded', 'Rate limit reached.'),
  'anthropic-messages': anthropic(429, 'rate_limit_error', 'This request would exceed your rate limit.'),
  'gemini-generate': google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' },
  ]),
};

/** An overload that a stream reports after its head, with status 200. */
export const IN_BAND: Readonly<Record<Dialect, object>> = {
  'openai-chat': { error: { message: 'The server is overloaded.', type: 'server_error', param: null, code: null } },
  'openai-responses': { type: 'error', code: 'server_error', message: 'The server is overloaded.', param: null },
  'anthropic-messages': anthropic(529, 'overloaded_error', 'Overloaded').body,
  'gemini-generate': google(503, 'UNAVAILABLE', 'The model is overloaded.').body,
};
