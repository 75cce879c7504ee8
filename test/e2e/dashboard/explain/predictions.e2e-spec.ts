import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { HealthService } from '../../../../src/models/routing/health.service';
import { OrganizationService } from '../../../../src/dashboard/organizations/organization.service';
import type { ApiKeySettingsInput } from '../../../../src/auth/api-keys/api-key-settings';
import { PIXEL } from '../../../harness/public-host';
import { chat, expectAgreement, ExplainStage, LIMITED_MODEL, type Operation, type Subject } from './explain-stage';

let stage: ExplainStage;
beforeAll(async () => {
  stage = await ExplainStage.start();
});
afterAll(() => stage.stop());

const PICTURE = PIXEL.toString('base64');
const PUBLIC_IMAGE = 'https://images.example/cat.png';
const TOOL = { type: 'function', function: { name: 'look' } };
const FLAT_TOOL = { type: 'function', name: 'look', parameters: {} };
const SCHEMA = { type: 'json_schema', name: 'answer', schema: { type: 'object' } };

describe('an explanation predicts the hold and deployment of an accepted request', () => {
  it.each<[Operation, object]>([
    ['createChatCompletion', chat()],
    ['createChatCompletion', chat({ routing: { strategy: 'price', max_attempts: 1 } })],
    ['createChatCompletion', chat({ routing: { models: ['mock/chat-1'] } })],
    ['createChatCompletion', chat({ stream: true })],
    ['createCompletion', { model: 'mock/chat-1', prompt: '[[mock: delay=0]] Once upon a time', max_tokens: 20 }],
    ['createResponse', { model: 'mock/chat-1', input: '[[mock: delay=0]] Hello', max_output_tokens: 20 }],
    ['createEmbedding', { model: 'mock/embed-1', input: ['one', 'two'] }],
    ['createImage', { model: 'mock/image-1', prompt: 'a boat', quality: 'high', n: 2, response_format: 'b64_json' }],
    [
      'createImageEdit',
      { model: 'mock/image-1', prompt: 'a boat', input_images: [PICTURE], response_format: 'b64_json' },
    ],
    ['createSpeech', { model: 'mock/speech-1', input: 'Hello there', voice: 'alloy' }],
    ['createVideo', { model: 'mock/video-1', prompt: 'a boat', duration_seconds: 3, resolution: '480p' }],
    ['createVideo', { model: 'mock/video-1', prompt: 'a boat', max_cost_micro: 1_000_000 }],
    ['createMusic', { model: 'mock/music-1', prompt: 'a waltz' }],
  ])('%s %j', async (operation, request) => {
    await expectAgreement(stage, await stage.subject(), request, operation);
  });

  it('the next deployment when the first does not support the request, with the price of both in the hold', async () => {
    const request = plain({ tools: [TOOL], routing: { models: ['mock/duo'] } });
    const explained = await expectAgreement(stage, await stage.subject(), request);
    expect(explained.candidates.map(({ model }: { model: string }) => model)).toEqual(['mock/duo', 'mock/duo']);
    expect(explained.left_out).toMatchObject([{ model: 'acme/plain', reason: 'unsupported', param: 'tools' }]);
    expect(explained.hold_micro).toBeGreaterThan(explained.candidates[0].estimated_cost_micro as number);
  });

  it.each<[string, object]>([
    ['with tools', { tools: [TOOL] }],
    ['without tools', {}],
  ])('the one deployment that serves requests %s', async (_kind, fields) => {
    const explained = await expectAgreement(stage, await stage.subject(), chat({ model: 'mock/split', ...fields }));
    expect(explained.candidates).toHaveLength(1);
    expect(reasonsOf(explained)).toEqual(['unsupported', 'unsupported']);
    expect(explained.left_out[0].deployment_id).not.toBe(explained.candidates[0].deployment_id);
  });

  it.each(['203.0.113.9', '::ffff:203.0.113.9', null, undefined])('from the address %s', async (client_ip) => {
    const subject = await stage.subject({ allowedIps: ['203.0.113.0/24'] });
    const explained = await stage.explain(subject, chat(), 'createChatCompletion', { client_ip });
    expect([explained.accepted, explained.client_ip]).toEqual([true, client_ip ?? null]);
  });

  it('of a transcription by the duration of its audio', async () => {
    const subject = await stage.subject();
    const explained = await stage.explain(
      subject,
      { model: 'mock/transcribe-1', duration_seconds: 90 },
      'createTranscription',
    );
    expect([explained.accepted, explained.candidates[0].model]).toEqual([true, 'mock/transcribe-1']);
    const twice = await stage.explain(
      subject,
      { model: 'mock/transcribe-1', duration_seconds: 180 },
      'createTranscription',
    );
    expect(twice.hold_micro).toBe(2 * explained.hold_micro);
  });
});

describe('an explanation predicts the error of a refused request', () => {
  it.each<[string, Operation, object]>([
    ['a body that breaks the document', 'createChatCompletion', chat({ messages: [] })],
    ['a field deep in the body', 'createChatCompletion', chat({ routing: { max_attempts: 9 } })],
    ['a NUL character', 'createChatCompletion', chat({ messages: [{ role: 'user', content: 'a\u0000b' }] })],
    ['a NUL character in the name of a field', 'createEmbedding', { model: 'mock/embed-1', input: 'a', 'b\u0000': 1 }],
    ['an unknown model', 'createChatCompletion', chat({ model: 'mock/none' })],
    ['a model that does something else', 'createChatCompletion', chat({ model: 'mock/embed-1' })],
    ['a strategy that is not there', 'createChatCompletion', chat({ routing: { strategy: 'smart' } })],
    ['providers that are all ruled out', 'createChatCompletion', chat({ routing: { only: ['unknown'] } })],
    ['a price that is too high everywhere', 'createChatCompletion', chat({ routing: { max_price: { prompt: 1 } } })],
    ['an image URL with a private IP address', 'createChatCompletion', withImage('https://10.0.0.1/cat.png')],
    ['an input item without a type', 'createResponse', { model: 'mock/chat-1', input: [{ role: 'unknown' }] }],
    ['a size that the model does not draw', 'createImage', { model: 'mock/image-1', prompt: 'a', size: '7x7' }],
    ['a voice that the model does not have', 'createSpeech', { model: 'mock/speech-1', input: 'a', voice: 'unknown' }],
    ['a cap below the estimate', 'createVideo', { model: 'mock/video-1', prompt: 'a', max_cost_micro: 1 }],
    [
      'a duration that the model does not support',
      'createVideo',
      { model: 'mock/video-1', prompt: 'a', duration_seconds: 121 },
    ],
    [
      'a webhook URL on localhost',
      'createMusic',
      { model: 'mock/music-1', prompt: 'a', webhook_url: 'https://localhost/' },
    ],
  ])('%s', async (_what, operation, request) => {
    const explained = await expectAgreement(stage, await stage.subject(), request, operation);
    expect(explained.accepted).toBe(false);
  });

  it('a number that loses precision', async () => {
    const { customer, developer } = await stage.subject();
    const request = '{"model":"mock/chat-1","messages":[{"role":"user","content":"Hi"}],"seed":9007199254740993}';
    const sent = await stage.gateway.call('/v1/chat/completions', { key: customer.key, body: request });
    const { json } = await developer.call('/dashboard/api/explain', {
      body: `{"key_id":"${customer.keyId}","operation":"createChatCompletion","request":${request}}`,
    });
    const { request_id: _id, ...error } = sent.json.error;
    expect(error).toMatchObject({ code: 'validation_failed', param: 'seed' });
    expect(json).toMatchObject({ accepted: false, error });
  });

  it.each<[string, ApiKeySettingsInput, bigint | undefined, string, number]>([
    ['a model that the key may not use', { allowedModels: ['mock/chat-1'] }, undefined, 'model_not_allowed', 0],
    ['a modality that the key may not use', { allowedModalities: ['image'] }, undefined, 'modality_not_allowed', 0],
    ['requests in a minute', { requestsPerMinute: 1 }, undefined, 'rate_limited', 1],
    ['tokens in a minute', { tokensPerMinute: 10 }, undefined, 'tokens_per_minute_exceeded', 0],
    ['a daily budget', { dailyBudgetMicro: 100n }, undefined, 'budget_exceeded', 0],
    ['a monthly budget', { monthlyBudgetMicro: 100n }, undefined, 'budget_exceeded', 0],
    ['a balance', {}, 100n, 'insufficient_credits', 0],
  ])('%s', async (_what, settings, creditMicro, code, before) => {
    const subject = await stage.subject(settings, creditMicro);
    for (let count = 0; count < before; count++) await stage.send(subject, chat());
    const explained = await expectAgreement(stage, subject, chat());
    expect(explained.error.code).toBe(code);
  });

  it.each<[string, ApiKeySettingsInput, bigint | undefined, string]>([
    ['a slot that a request in flight has', { concurrency: 1 }, undefined, 'concurrency_exceeded'],
    ['money that is held for a request in flight', {}, 700n, 'insufficient_credits'],
  ])('%s', async (_what, settings, creditMicro, code) => {
    const subject = await stage.subject(settings, creditMicro);
    const inFlight = await stage.begin(subject);
    try {
      const explained = await expectAgreement(stage, subject, chat());
      expect(explained.error.code).toBe(code);
    } finally {
      await inFlight.abandon();
    }
  });

  it.each<[string, Operation, object, string]>([
    ['tools', 'createChatCompletion', plain({ tools: [TOOL] }), 'tools'],
    ['a field that its upstream refuses', 'createChatCompletion', plain({ stream: true, seed: 1 }), 'seed'],
    ['an image', 'createChatCompletion', plain({ messages: [imageMessage(PUBLIC_IMAGE)] }), 'messages[0].content[0]'],
    ['tools in another format', 'createResponse', { model: 'acme/plain', input: 'Hi', tools: [FLAT_TOOL] }, 'tools'],
    ['a schema', 'createResponse', { model: 'acme/plain', input: 'Hi', text: { format: SCHEMA } }, 'text.format'],
    ['a suffix', 'createCompletion', { model: 'acme/plain', prompt: 'Once', suffix: 'end' }, 'suffix'],
    ['a seed', 'createCompletion', { model: 'acme/plain', prompt: 'Once', seed: 7 }, 'seed'],
    ['a length of vectors', 'createEmbedding', { model: 'acme/embed', input: 'one', dimensions: 7 }, 'dimensions'],
    ['longer vectors', 'createEmbedding', { model: 'mock/embed-1', input: 'one', dimensions: 9_999 }, 'dimensions'],
  ])('%s that no deployment of the route supports', async (_what, operation, request, param) => {
    const explained = await expectAgreement(stage, await stage.subject(), request, operation);
    expect([explained.error.code, explained.error.param]).toEqual(['validation_failed', param]);
    expect(explained.candidates).toEqual([]);
    expect(explained.left_out).toMatchObject([{ reason: 'unsupported', param }]);
    expect(outcomesOf(explained)).toBe('passes passes passes passes passes passes refuses');
  });

  it('insufficient funds before an unsupported field, because the hold precedes the adapters', async () => {
    const explained = await expectAgreement(stage, await stage.subject({}, 0n), plain({ tools: [TOOL] }));
    expect(explained.error.code).toBe('insufficient_credits');
    expect(outcomesOf(explained)).toBe('passes passes passes passes passes refuses refuses');
  });

  it.each(['127.0.0.1', '::ffff:127.0.0.1'])('a client IP that the key does not allow: %s', async (client_ip) => {
    const subject = await stage.subject({ allowedIps: ['203.0.113.0/24'] });
    const { status, json } = await stage.send(subject, chat());
    const explained = await stage.explain(subject, chat(), 'createChatCompletion', { client_ip });
    expect([status, json.error.code]).toEqual([403, 'ip_not_allowed']);
    expect([explained.error.status, explained.error.code]).toEqual([status, json.error.code]);
    expect([explained.client_ip, outcomesOf(explained)]).toEqual([
      client_ip,
      'refuses passes passes passes passes passes passes',
    ]);
  });

  it('a monthly limit of the organization', async () => {
    const subject = await stage.subject();
    const organizations = stage.gateway.app.get(OrganizationService, { strict: false });
    await organizations.setMonthlyLimit(subject.customer.organizationId, 100n, COMMAND_LINE);
    const explained = await expectAgreement(stage, subject, chat());
    expect(explained.error.code).toBe('spending_limit_exceeded');
    expect(explained.budgets.filter(({ refuses }: { refuses: boolean }) => refuses)).toMatchObject([
      { budget: 'organization_monthly', limit_micro: 100, used_micro: 0 },
    ]);
  });

  it('a model limit that another customer has used up, without its remaining amount', async () => {
    await stage.send(await stage.subject(), chat({ model: LIMITED_MODEL }));
    const explained = await expectAgreement(stage, await stage.subject(), chat({ model: LIMITED_MODEL }));
    expect(explained.limits).toEqual([
      { scope: 'model', kind: 'requests_per_minute', limit: 1, remaining: null, refuses: true },
    ]);
  });

  it('a disabled key, and the outcome of the other checks', async () => {
    const subject = await stage.subject();
    await stage.disable(subject);
    const explained = await expectAgreement(stage, subject, chat());
    expect(outcomesOf(explained)).toEqual('refuses passes passes passes passes passes passes');
    expect(explained.candidates).toHaveLength(2);
  });

  it('a suspended organization, an expired key and a revoked key', async () => {
    const suspended = await stage.subject();
    const organizations = stage.gateway.app.get(OrganizationService, { strict: false });
    await organizations.suspend(suspended.customer.organizationId, null, COMMAND_LINE);
    expect((await expectAgreement(stage, suspended, chat())).error.code).toBe('ip_not_allowed');

    const expired = await stage.subject();
    await stage.gateway.rows(`UPDATE api_key SET expires_at = now() - interval '1 second' WHERE id = $1`, [
      expired.customer.keyId,
    ]);
    expect((await expectAgreement(stage, expired, chat())).error.code).toBe('key_expired');

    const revoked = await stage.subject();
    await stage.keys.revoke(revoked.customer.keyId, revoked.customer.organizationId, COMMAND_LINE);
    expect((await expectAgreement(stage, revoked, chat())).error.code).toBe('key_revoked');
  });

  it('deployments that are all in cool-down', async () => {
    const subject = await stage.subject();
    const { candidates } = await stage.explain(subject, chat());
    const health = stage.gateway.app.get(HealthService, { strict: false });
    const all = candidates.map(({ deployment_id: id }: { deployment_id: string }) => health.healthOf(id));
    try {
      for (const each of all) each.trip(performance.now() + 60_000);
      const explained = await expectAgreement(stage, subject, chat());
      expect(explained.error.code).toBe('no_provider_available');
      expect(reasonsOf(explained)).toEqual(['breaker_open', 'breaker_open', 'provider_not_configured']);
    } finally {
      for (const each of all) each.close();
      await letRecover(subject);
    }
  });
});

/** A cool-down is cleared by the first request after its end. */
async function letRecover(subject: Subject): Promise<void> {
  expect((await stage.explain(subject, chat())).accepted).toBe(true);
}

function withImage(url: string): object {
  return chat({ model: 'mock/chat-1', messages: [imageMessage(url)] });
}

function imageMessage(url: string): object {
  return { role: 'user', content: [{ type: 'image_url', image_url: { url } }] };
}

/** For a model whose adapter knows its unsupported fields. */
function plain(fields: object): object {
  return chat({ model: 'acme/plain', ...fields });
}

function outcomesOf({ checks }: { checks: { outcome: string }[] }): string {
  return checks.map(({ outcome }) => outcome).join(' ');
}

function reasonsOf({ left_out: leftOut }: { left_out: { reason: string }[] }): string[] {
  return leftOut.map(({ reason }) => reason);
}
