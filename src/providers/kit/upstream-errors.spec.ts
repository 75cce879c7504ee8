import { mapInBandError, mapUpstreamError } from './upstream-errors';

function map(status: number, body: unknown, headers: Record<string, string> = {}) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return mapUpstreamError({ status, headers, body: bytes, phase: 'first_token', now: 0 });
}

const openAi = (type: string, code: string | null, param: string | null = null, message = 'A message.') => ({
  error: { message, type, code, param },
});

describe('mapUpstreamError', () => {
  it.each([
    [402, {}, true],
    [429, `\uFEFF${JSON.stringify(openAi('insufficient_quota', null))}`, true],
    [429, openAi('insufficient_quota', 'insufficient_quota'), true],
    [403, { detail: 'User is locked. Reason: Exhausted balance. Top up your balance.' }, true],
    [400, { error: 'You do not have enough credits to run this task.' }, true],
    [403, { error: { code: 'AccountOverdueError', message: 'An overdue balance.', type: 'Forbidden' } }, true],
    [403, { error: { code: 'OperationDenied.ServiceOverdue', message: 'Denied.', type: 'Forbidden' } }, true],
    [403, { code: 'AUTHZ_INSUFFICIENT_BALANCE', message: 'Insufficient account balance' }, true],
    [403, openAi('permission', null), undefined],
    [401, openAi('invalid_request_error', 'invalid_api_key'), undefined],
    [400, openAi('invalid_request_error', null, null, 'A quota has a limit: 0'), undefined],
  ])('tells an account without credit from a refused key: %i %j', (status, body, outOfCredit) => {
    expect(map(status, body).options.outOfCredit).toBe(outOfCredit);
  });

  it.each([
    [400, openAi('invalid_request_error', null, 'tools[0]', "Invalid schema: 'insufficient balance' is not allowed.")],
    [400, openAi('invalid_request_error', null, 'user', "'invalid API key' is too long.")],
    [422, openAi('validation_error', null, null, 'stop[0]: your credit balance is too low')],
  ])('blames the request, not the account, for words that a refusal quotes: %i %j', (status, body) => {
    const { code, options } = map(status, body);
    expect({ code, ...options }).toMatchObject({ code: 'validation_failed', fallback: false });
    expect(options).not.toHaveProperty('credentialRefused');
  });

  it.each([
    [429, openAi('tokens', 'rate_limit_exceeded'), 'provider_rate_limited', true, undefined],
    [429, openAi('insufficient_quota', 'insufficient_quota'), 'provider_error', true, true],
    [429, openAi('billing', 'credit_balance_exhausted'), 'provider_error', true, true],
    [401, openAi('invalid_request_error', 'invalid_api_key'), 'provider_error', true, true],
    [402, {}, 'provider_error', true, true],
    [
      400,
      { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***' },
      'provider_error',
      true,
      true,
    ],
    [
      400,
      { code: 'Client specified an invalid argument', error: 'Argument not supported: stop' },
      'validation_failed',
      false,
      undefined,
    ],
    [
      400,
      { code: 'invalid-argument', error: 'The function name tool_search is reserved for the tool_search tool' },
      'validation_failed',
      false,
      undefined,
    ],
    [400, { code: 'invalid-argument', error: 'Model not found: grok-2' }, 'provider_error', true, undefined],
    [
      400,
      { code: 'Client specified an invalid argument', error: 'Model not found: grok-2' },
      'provider_error',
      true,
      undefined,
    ],
    [
      400,
      {
        code: 'invalid-argument',
        error: 'Zero Data Retention teams must provide output.upload_url for video generation.',
      },
      'provider_error',
      true,
      undefined,
    ],
    [429, openAi('exceeded_current_quota_error', null), 'provider_error', true, true],
    [
      429,
      openAi('too_many_requests_error', 'request_quota_exceeded', 'quota'),
      'provider_rate_limited',
      true,
      undefined,
    ],
    [429, openAi('too_many_tokens_error', 'token_quota_exceeded', 'quota'), 'provider_rate_limited', true, undefined],
    [429, openAi('quota_exceeded', 'quota_exceeded'), 'provider_error', true, true],
    [400, openAi('Arrearage', 'Arrearage'), 'provider_error', true, true],
    [
      429,
      { error: { code: '1113', message: 'Your account is in arrears, please recharge.' } },
      'provider_error',
      true,
      true,
    ],
    [500, { error: { type: 'api_error', message: 'insufficient balance (1008)' } }, 'provider_error', true, true],
    [400, { error: 'Your current account balance is negative. Please top up.' }, 'provider_error', true, true],
    [429, { error: { code: '1302', message: 'High concurrency usage.' } }, 'provider_rate_limited', true, undefined],
    [400, openAi('data_inspection_failed', 'data_inspection_failed'), 'validation_failed', false, undefined],
    [403, { error: { code: 403, metadata: { reasons: ['violence'] } } }, 'validation_failed', false, undefined],
    [403, { error: { code: 403, metadata: {} } }, 'provider_error', true, true],
    [400, { error: { code: 400, metadata: { error_type: 'invalid_request' } } }, 'validation_failed', false, undefined],
    [403, openAi('permission', null), 'provider_error', true, true],
    [
      400,
      { error: { message: 'API key not valid', code: 400, status: 'UNAUTHENTICATED' } },
      'provider_error',
      true,
      true,
    ],
    [404, openAi('invalid_request_error', 'model_not_found'), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'model_not_found', 'model'), 'provider_error', true, undefined],
    [408, {}, 'provider_timeout', true, undefined],
    [504, '<html>', 'provider_timeout', true, undefined],
    [524, '', 'provider_timeout', true, undefined],
    [500, openAi('server_error', null), 'provider_unavailable', true, undefined],
    [500, openAi('', null, null, 'input (9 tokens) is too large to process.'), 'validation_failed', false, undefined],
    [400, openAi('max_tokens_per_request', 'max_tokens_per_request'), 'validation_failed', false, undefined],
    [502, '<html>', 'provider_unavailable', true, undefined],
    [503, {}, 'provider_unavailable', true, undefined],
    [529, {}, 'provider_unavailable', true, undefined],
    [400, openAi('image_generation_user_error', 'invalid_image', 'image'), 'validation_failed', false, undefined],
    [
      400,
      openAi('invalid_request_error', 'context_length_exceeded', 'messages'),
      'validation_failed',
      false,
      undefined,
    ],
    [
      400,
      { object: 'error', message: 'bad', type: 'BadRequestError', code: 400 },
      'validation_failed',
      false,
      undefined,
    ],
    [413, '<html>', 'validation_failed', false, undefined],
    [413, openAi('tokens', 'rate_limit_exceeded'), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'organization_restricted'), 'provider_error', true, true],
    [400, openAi('invalid_request_error', 'blocked_api_access'), 'provider_error', true, true],
    [400, openAi('invalid_request_error', 'tool_use_failed'), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'json_validate_failed'), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'model_decommissioned'), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'model_terms_required'), 'provider_error', true, undefined],
    [
      422,
      { detail: [{ loc: ['body', 'top_k'], msg: 'too big', type: 'less_than' }] },
      'validation_failed',
      false,
      undefined,
    ],
    [
      422,
      { title: 'Unprocessable Entity', status: 422, detail: 'body -> n\n  Extra inputs are not permitted' },
      'validation_failed',
      false,
      undefined,
    ],
    [
      403,
      openAi('invalid_request_error', null, null, 'Input tokens + max_tokens must be less than the context length'),
      'validation_failed',
      false,
      undefined,
    ],
    [400, openAi('invalid_request_error', 'content_policy_violation'), 'validation_failed', false, undefined],
    [400, openAi('InvalidParameter', 'InvalidParameter'), 'validation_failed', false, undefined],
    [400, 'nonsense', 'provider_error', true, undefined],
    [400, openAi('', null), 'provider_error', true, undefined],
    [400, openAi('invalid_request_error', 'unknown_parameter', 'stream_options'), 'provider_error', true, undefined],
    [409, {}, 'provider_error', true, undefined],
    [302, '', 'provider_error', true, undefined],
  ])('maps %i %j to %s', (status, body, code, fallback, credentialRefused) => {
    const error = map(status, body);
    expect([error.code, error.options.fallback, error.options.credentialRefused]).toEqual([
      code,
      fallback,
      credentialRefused,
    ]);
  });

  it('always gives a rate limit a Retry-After of 1 to 3600 seconds', () => {
    expect(map(429, {}).options.retryAfterSeconds).toBe(10);
    expect(map(429, {}, { 'retry-after': 'garbage' }).options.retryAfterSeconds).toBe(10);
    expect(map(429, {}, { 'retry-after': '1e9' }).options.retryAfterSeconds).toBe(3600);
    expect(map(503, {}, { 'retry-after': '4' }).options.retryAfterSeconds).toBe(4);
    expect(map(503, {}).options.retryAfterSeconds).toBeUndefined();
  });

  it('treats a refused payment with a Retry-After as a rate limit', () => {
    const { code, options } = map(402, {}, { 'retry-after': '7' });
    expect([code, options.retryAfterSeconds, options.credentialRefused]).toEqual([
      'provider_rate_limited',
      7,
      undefined,
    ]);
  });

  it('reports the field and the reason without the operator’s secrets', () => {
    const message = "Invalid 'messages[0].content' for org-Secret123456 using sk-proj-12345678";
    const { options, message: own } = map(
      400,
      openAi('invalid_request_error', 'invalid_value', 'messages[0].content', message),
    );
    expect(options.param).toBe('messages[0].content');
    expect(options.details).toEqual({
      provider_code: 'invalid_value',
      provider_message: "Invalid 'messages[0].content' for [redacted] using [redacted]",
    });
    expect(own).not.toContain('Secret');
  });

  it('reads the field out of a validation list', () => {
    const body = {
      detail: [{ loc: ['body', 'messages', 2, 'content'], msg: 'Input should be a string', type: 'string_type' }],
    };
    expect(map(422, body).options.param).toBe('messages[2].content');
    expect(map(422, { object: 'error', message: body }).options.param).toBe('messages[2].content');
  });

  it('drops a param that is not a path', () => {
    expect(map(400, openAi('invalid_request_error', 'x', 'see <a>')).options.param).toBeUndefined();
  });

  it.each(['content_filter', 'content_moderation', 'imagine:content-moderated'])('marks content policy: %s', (name) => {
    const { code, options } = map(400, { code: name, error: 'Rejected.' });
    expect([code, options.fallback, options.details?.['reason']]).toEqual([
      'validation_failed',
      false,
      'content_filtered',
    ]);
  });

  it.each([
    openAi('invalid_request', 'cyber_policy'),
    openAi('invalid_request_error', 'bio_policy'),
    openAi('invalid_request_error', 'misalignment_policy_violation'),
    openAi(
      'invalid_request_error',
      'invalid_prompt',
      null,
      'Your prompt was flagged as potentially violating our policy.',
    ),
  ])('marks content that OpenAI refuses as an invalid request: %j', (body) => {
    expect(map(400, body).options.details?.['reason']).toBe('content_filtered');
  });

  it('does not take a malformed prompt for refused content', () => {
    const body = openAi('invalid_request_error', 'invalid_prompt', null, 'Invalid Responses API request');
    expect(map(400, body).options.details?.['reason']).toBeUndefined();
  });

  it('marks content that MiniMax refuses with a number of its own', () => {
    const message = 'video description contains sensitive content (1026)';
    const body = { type: 'error', error: { type: 'unprocessable_entity_error', message, http_code: '422' } };
    expect(map(422, body).options.details?.['reason']).toBe('content_filtered');
    const invalid = { type: 'error', error: { type: 'bad_request_error', message: 'invalid params (2013)' } };
    expect(map(400, invalid).options.details?.['reason']).toBeUndefined();
  });

  it.each([
    'Content violates usage guidelines. Team: 7c0a9f6e-1b1d-4a30-9a5e-2f3b8f1f0a11, Failed check: SAFETY_CHECK_TYPE_BIO',
    'Failed check: SAFETY_CHECK_TYPE_CSAM',
  ])('does not blame the credential for content that xAI refuses with 403: %s', (message) => {
    const permission = 'The caller does not have permission to execute the specified operation';
    const { code, options } = map(403, { code: permission, error: message });
    expect([code, options.fallback, options.credentialRefused, options.details?.['reason']]).toEqual([
      'validation_failed',
      false,
      undefined,
      'content_filtered',
    ]);
    expect(options.details?.['provider_message']).not.toContain('7c0a9f6e');
  });

  it.each([
    openAi('invalid_request_error', 'context_length_exceeded', 'messages'),
    openAi('BadRequestError', '400', null, "This model's maximum context length is 4096 tokens. However, you asked"),
    openAi('invalid_request_error', '', null, 'prompt is too long: 210000 tokens > 200000 maximum'),
    openAi('exceed_context_size_error', '', null, 'the request exceeds the available context size'),
    openAi('invalid_request_error', null, null, 'Your request exceeded model token limit: 262144 (requested: 300000)'),
    openAi('invalid_request_error', 'invalid_parameter_error', null, 'Range of input length should be [1, 258048]'),
    openAi('invalid_request_error', null, null, "The input (9 tokens) is longer than the model's context length (8)."),
    openAi('invalid_request_error', null, null, 'Please reduce the length of the messages or completion.'),
    { code: 'Client specified an invalid argument', error: "This model's maximum prompt length is 131072" },
    { message: 'too many tokens: size limit exceeded by 11326 tokens.' },
    { message: 'Input is too long for requested model.' },
    { error: { code: '1261', message: 'Prompt too long' } },
    openAi('invalid_request_error', null, null, 'Input length 9 exceeds the maximum allowed input length of 8 tokens.'),
    { error: { message: 'The prompt is 9 tokens long, but the maximum supported sequence length is just 8!' } },
  ])('reports a context overflow with the words that agents match on: %j', (body) => {
    const { code, message } = map(400, body);
    expect([code, message]).toEqual(['validation_failed', expect.stringContaining('maximum context length')]);
  });

  it('does not report a context overflow for other faults', () => {
    const { message } = map(400, openAi('invalid_request_error', 'invalid_value', 'messages', 'The context is wrong'));
    expect(message).not.toContain('context');
  });

  it('keeps the upstream status, code, type and request id for the log', () => {
    const error = map(500, openAi('server_error', 'boom'), { 'x-request-id': 'abc' });
    expect(error.options.upstream).toEqual({ status: 500, code: 'boom', type: 'server_error', requestId: 'abc' });
  });
});

describe('mapInBandError', () => {
  it.each([
    [{ error: { code: 429, message: 'x' } }, 'provider_rate_limited'],
    [{ error: { code: 502, message: 'x' } }, 'provider_unavailable'],
    [{ error: { type: 'server_error', message: 'x' } }, 'provider_unavailable'],
    [{ error: { type: 'overloaded_error' } }, 'provider_unavailable'],
    [{ error: { code: 'rate_limit_exceeded' } }, 'provider_rate_limited'],
    [{ error: { type: 'invalid_request_error' } }, 'validation_failed'],
    [{ error: { code: 'insufficient_quota' } }, 'provider_error'],
    [{ error: 'something broke' }, 'provider_error'],
    [{ error: true }, 'provider_error'],
  ])('maps %j to %s', (document, code) => {
    expect(mapInBandError(document, 'first_token').code).toBe(code);
  });
});

describe('mapUpstreamError for Google’s details', () => {
  const google = (
    code: number,
    status: string,
    details: readonly object[],
    message = 'A message of org-Secret123.',
  ) => ({
    error: { code, message, status, details },
  });
  const retry = (retryDelay: string) => ({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay });
  const quota = (quotaId: string) => ({
    '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
    violations: [{ quotaId }],
  });

  it.each([
    ['a wait', [retry('46s')], 46],
    ['a fraction', [retry('6.2s')], 7],
    ['no wait', [retry('0s')], 10],
    ['a wait of hours', [retry('21599.9s')], 3_600],
    ['a daily quota with a short wait', [quota('GenerateRequestsPerDayPerProjectPerModel'), retry('30s')], 3_600],
    ['a quota per minute', [quota('GenerateContentInputTokensPerModelPerMinute'), retry('30s')], 30],
    ['nothing', [], 10],
  ])('reads the wait of a rate limit from %s', (_name, details, seconds) => {
    const { code, options } = map(429, google(429, 'RESOURCE_EXHAUSTED', details));
    expect([code, options.retryAfterSeconds]).toEqual(['provider_rate_limited', seconds]);
  });

  it.each([
    ['a key that is not valid', 400, google(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }])],
    ['a key without permission', 403, google(403, 'PERMISSION_DENIED', [])],
    ['an empty account', 429, google(429, 'RESOURCE_EXHAUSTED', [], 'Your prepayment credits are depleted.')],
    ['an account without funds', 429, google(429, 'RESOURCE_EXHAUSTED', [], 'Your prepayment funds are depleted.')],
    [
      'a model that its plan does not include',
      429,
      google(
        429,
        'RESOURCE_EXHAUSTED',
        [retry('55s')],
        'Quota exceeded for metric: free_tier_requests, limit: 0, model: m',
      ),
    ],
  ])('blames the gateway’s account for %s', (_name, status, body) => {
    const { code, options, message } = map(status, body);
    expect([code, options.credentialRefused]).toEqual(['provider_error', true]);
    expect(message).not.toContain('Secret');
  });

  it.each([
    [400, 'INVALID_ARGUMENT', 'validation_failed', false],
    [400, 'FAILED_PRECONDITION', 'provider_error', true],
    [404, 'NOT_FOUND', 'provider_error', true],
    [500, 'INTERNAL', 'provider_unavailable', true],
    [503, 'UNAVAILABLE', 'provider_unavailable', true],
    [504, 'DEADLINE_EXCEEDED', 'provider_timeout', true],
  ])('maps %i %s to %s, also inside a reply with status 200', (status, name, code, fallback) => {
    const body = google(status, name, []);
    for (const error of [map(status, body), mapInBandError(body, 'first_token')]) {
      expect([error.code, error.options.fallback]).toEqual([code, fallback]);
      expect(JSON.stringify([error.message, error.options.details])).not.toContain('Secret');
    }
  });

  it('reports a context overflow', () => {
    const message = 'The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).';
    expect(map(400, google(400, 'INVALID_ARGUMENT', [], message)).options.otherModel).toBe(true);
  });
});
