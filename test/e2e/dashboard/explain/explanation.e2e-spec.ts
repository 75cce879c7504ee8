import { randomUUID } from 'node:crypto';
import { ModelCatalogService } from '../../../../src/models/model-catalog.service';
import { HealthService } from '../../../../src/models/routing/health.service';
import { chat, ExplainStage } from './explain-stage';

let stage: ExplainStage;
beforeAll(async () => {
  stage = await ExplainStage.start();
});
afterAll(() => stage.stop());

interface Reason {
  readonly deployment_id: string;
  readonly reason: string;
}

const reasonsOf = ({ left_out: leftOut }: { left_out: Reason[] }): string[] => leftOut.map(({ reason }) => reason);

describe('the route', () => {
  it('lists candidates in order with price and cost, and the reason for each deployment left out', async () => {
    const subject = await stage.subject();
    const explained = await stage.explain(subject, chat());
    const [first, second] = explained.candidates;
    expect(explained.candidates).toHaveLength(2);
    expect(first).toMatchObject({
      model: 'mock/trio',
      provider: 'mock',
      pricing: { tokens: { per_1m_micro: { input: 1_000_000 } } },
    });
    expect(second.pricing.tokens.per_1m_micro).toEqual({ input: 3_000_000, output: 9_000_000 });
    expect(second.estimated_cost_micro).toBeGreaterThan(first.estimated_cost_micro as number);
    expect([explained.estimated_cost_micro, explained.hold_micro]).toEqual(Array(2).fill(second.estimated_cost_micro));
    expect(explained.left_out).toEqual([
      {
        model: 'mock/trio',
        deployment_id: expect.any(String),
        provider: 'openai-compatible',
        reason: 'provider_not_configured',
        param: null,
      },
    ]);
  });

  it.each<[object, string[]]>([
    [{ max_attempts: 1 }, ['not_needed', 'provider_not_configured']],
    [{ max_price: { completion: 2_000_000 } }, ['max_price', 'provider_not_configured']],
    [{ ignore: ['mock'] }, ['ignore', 'ignore', 'provider_not_configured']],
    [{ only: ['openai-compatible'] }, ['only', 'only', 'provider_not_configured']],
  ])('under %j leaves out %j', async (routing, reasons) => {
    expect(reasonsOf(await stage.explain(await stage.subject(), chat({ routing })))).toEqual(reasons);
  });

  it('leaves out deployments without a required capability, also of fallback models', async () => {
    const routing = { models: ['mock/chat-1'], require_parameters: true };
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const explained = await stage.explain(await stage.subject(), chat({ routing, tools }));
    expect(explained.fallback_models).toEqual(['mock/chat-1']);
    expect(explained.candidates.map(({ model }: { model: string }) => model)).toEqual(['mock/chat-1']);
    expect(reasonsOf(explained)).toEqual(['unsupported', 'unsupported', 'provider_not_configured']);
  });

  it('leaves out deployments that are disabled, rate limited or failing', async () => {
    const subject = await stage.subject();
    const duo = chat({ model: 'mock/duo' });
    const [first, second] = (await stage.explain(subject, duo)).candidates as Reason[];
    if (first === undefined || second === undefined) throw new Error('expected two deployments');
    const health = stage.gateway.app.get(HealthService, { strict: false });
    health.healthOf(first.deployment_id).cool(performance.now() + 60_000);
    expect(reasonsOf(await stage.explain(subject, duo))).toEqual(['rate_limited']);
    health.healthOf(second.deployment_id).trip(performance.now() + 60_000);
    const refused = await stage.explain(subject, duo);
    expect(reasonsOf(refused)).toEqual(['rate_limited', 'breaker_open']);
    health.healthOf(second.deployment_id).close();

    await stage.gateway.rows('UPDATE deployment SET enabled = false WHERE id = $1', [second.deployment_id]);
    await stage.gateway.app.get(ModelCatalogService, { strict: false }).refresh();
    expect(reasonsOf(await stage.explain(subject, duo))).toEqual(['rate_limited', 'disabled']);
  });
});

it('reports the check that refuses, runs later ones where possible, and marks the others as unknown', async () => {
  const subject = await stage.subject({ requestsPerMinute: 1 }, 0n);
  await stage.send(subject, chat());
  const accepted = await stage.explain(subject, chat({ model: 'mock/chat-1' }));
  expect(accepted.checks.map(({ check, outcome }: Record<string, string>) => [check, outcome])).toEqual([
    ['key', 'passes'],
    ['request', 'passes'],
    ['route', 'passes'],
    ['price', 'passes'],
    ['limits', 'refuses'],
    ['budgets', 'refuses'],
    ['support', 'passes'],
  ]);
  expect(accepted.error.code).toBe('rate_limited');
  expect(accepted.checks.at(-2).error.code).toBe('insufficient_credits');

  const nowhere = await stage.explain(subject, chat({ routing: { only: ['unknown'] } }));
  expect(nowhere.checks.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    'passes',
    'passes',
    'refuses',
    'not_reached',
    'refuses',
    'not_reached',
    'not_reached',
  ]);
  const unclear = await stage.explain(subject, { model: 'mock/chat-1' });
  expect([unclear.model, unclear.candidates, unclear.limits, unclear.hold_micro]).toEqual([null, [], [], null]);
});

it('changes no counter, hold or row', async () => {
  const subject = await stage.subject({ requestsPerMinute: 1, tokensPerMinute: 1_000, concurrency: 1 }, 2_000n);
  const traces = () =>
    stage.gateway.rows(
      `SELECT (SELECT count(*) FROM reservation) AS reservations, (SELECT count(*) FROM usage_record) AS records,
              (SELECT count(*) FROM spend_window) AS windows, (SELECT count(*) FROM media_job) AS jobs,
              (SELECT sum(reserved_micro) FROM organization_account) AS held`,
    );
  const before = await traces();
  const video = { model: 'mock/video-1', prompt: 'a boat' };
  for (let count = 0; count < 5; count++) {
    const { limits } = await stage.explain(subject, chat({ model: 'mock/chat-1' }));
    expect(limits.map(({ remaining }: { remaining: number }) => remaining)).toEqual([1, 1_000, 1]);
    await stage.explain(subject, video, 'createVideo');
  }
  expect(await traces()).toEqual(before);
  expect((await stage.send(subject, chat({ model: 'mock/chat-1' }))).status).toBe(200);
});

describe('a key that the caller may not explain', () => {
  it.each(['viewer', 'outsider', 'operator', 'unknown', 'malformed'])(
    'returns the 404 of an unknown key to a %s',
    async (who) => {
      const { customer } = await stage.subject();
      const { organizationId } = customer;
      const user =
        who === 'viewer'
          ? await stage.gateway.dashboardUser({ role: 'viewer', organizationId })
          : await stage.gateway.dashboardUser({ operator: who === 'operator' });
      const keyId = who === 'unknown' ? randomUUID() : who === 'malformed' ? "'; --" : customer.keyId;
      const body = { key_id: keyId, operation: 'createChatCompletion', request: chat() };
      const { status, json } = await user.call('/dashboard/api/explain', { body });
      expect([status, json.error.code, json.error.message]).toEqual([404, 'not_found', 'There is no such API key.']);
    },
  );
});

it.each([
  [{ operation: 'listModels' }, 'operation'],
  [{ request: 'hello' }, 'request'],
  [{ request: [] }, 'request'],
  [{ operation: 'createTranscription', request: { model: 'mock/transcribe-1' } }, 'request.duration_seconds'],
  [{ operation: 'createTranscription', request: { duration_seconds: -1 } }, 'request.duration_seconds'],
  [{ user: 'user-1' }, 'user'],
  [{ client_ip: '10.0.0.1:443' }, 'client_ip'],
  [{ client_ip: 7 }, 'client_ip'],
])('refuses the invalid explain request %j', async (fields, param) => {
  const { customer, developer } = await stage.subject();
  const body = { key_id: customer.keyId, operation: 'createChatCompletion', request: chat(), ...fields };
  const { status, json } = await developer.call('/dashboard/api/explain', { body });
  expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
});
