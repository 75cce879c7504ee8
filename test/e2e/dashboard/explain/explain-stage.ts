import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import type { ApiKeySettingsInput } from '../../../../src/auth/api-keys/api-key-settings';
import { ApiKeyService } from '../../../../src/auth/api-keys/api-key.service';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type CallReply, type TestCustomer, TestGateway } from '../../../harness/gateway';

/** Unique per run, because its limit is counted in the shared Redis. */
export const LIMITED_MODEL = `mock/limited-${randomUUID()}`;

/**
 * `mock/trio` has two deployments, the second more expensive; a third has no configured provider. `mock/duo` can be
 * broken. `mock/split` has one for requests with tools, one for those without, and one in a dialect that its provider
 * lacks. `acme/plain` and `acme/embed` have an unreachable upstream and an adapter that knows their unsupported fields.
 */
const CATALOGUE = `
- id: mock/trio
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  max_output: 8192
  features: { streaming: true }
  deployments:
    - { provider: mock, upstream_model: trio-1, priority: 1 }
    - provider: mock
      upstream_model: trio-2
      priority: 2
      prices:
        - effective_from: 2026-01-01
          source: made up
          checked_at: 2026-11-20
          tokens: { per_1m_micro: { input: 3000000, output: 9000000 } }
    - { provider: openai-compatible, upstream_model: trio-3, priority: 3 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 1000000, output: 2000000 } }
- id: mock/duo
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  features: { streaming: true }
  deployments:
    - { provider: mock, upstream_model: duo-1, priority: 1 }
    - { provider: mock, upstream_model: duo-2, priority: 2 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 1000000, output: 2000000 } }
- id: mock/split
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  max_output: 8192
  features: { streaming: true, tools: true }
  deployments:
    - { provider: mock, upstream_model: split-1, when: { tools: false } }
    - { provider: mock, upstream_model: split-2, when: { tools: true } }
    - { provider: mock, upstream_model: split-3, dialect: openai-responses }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 1000000, output: 2000000 } }
- id: acme/plain
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  max_output: 8192
  features: { streaming: true, tools: false, json_object: true, vision: false }
  deployments:
    - { provider: openai, upstream_model: plain-1, quirks: { rejectFields: [seed] } }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 9000000, output: 90000000 } }
- id: acme/embed
  modality: embedding
  input_modalities: [text]
  output_modalities: [embedding]
  features: { dimensions: false }
  deployments:
    - { provider: openai, upstream_model: embed-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 100000, output: 0 } }
- id: ${LIMITED_MODEL}
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  features: { streaming: true }
  limits: { rpm: 1 }
  deployments:
    - { provider: mock, upstream_model: limited-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 1000000, output: 2000000 } }
`;

/** The path of each operation with a JSON body. */
const PATHS = {
  createChatCompletion: '/v1/chat/completions',
  createCompletion: '/v1/completions',
  createResponse: '/v1/responses',
  createEmbedding: '/v1/embeddings',
  createImage: '/v1/images/generations',
  createImageEdit: '/v1/images/edits',
  createSpeech: '/v1/audio/speech',
  createVideo: '/v1/video/generations',
  createMusic: '/v1/music/generations',
} as const;
export type Operation = keyof typeof PATHS;

/** A customer and a developer of its organization. */
export interface Subject {
  readonly customer: TestCustomer;
  readonly developer: DashboardClient;
}

export const chat = (fields: object = {}): object => ({
  model: 'mock/trio',
  max_tokens: 50,
  messages: [{ role: 'user', content: '[[mock: delay=0]] Hello' }],
  ...fields,
});

/** A gateway whose explanations are compared with its actual responses. */
export class ExplainStage {
  private constructor(
    readonly gateway: TestGateway,
    private readonly catalogDir: string,
  ) {}

  static async start(): Promise<ExplainStage> {
    const catalogDir = mkdtempSync(join(tmpdir(), 'explain-e2e-'));
    writeFileSync(join(catalogDir, 'own.yaml'), CATALOGUE);
    const environment = {
      CATALOG_DIR: catalogDir,
      MOCK_MEDIA_PROVIDER: 'true',
      WORKER: 'none',
      OPENAI_API_KEY: 'sk-unused',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    };
    return new ExplainStage(await TestGateway.start(environment), catalogDir);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    rmSync(this.catalogDir, { recursive: true });
  }

  async subject(settings: ApiKeySettingsInput = {}, creditMicro?: bigint): Promise<Subject> {
    const customer = await this.gateway.customer(settings, creditMicro);
    const { organizationId } = customer;
    return { customer, developer: await this.gateway.dashboardUser({ role: 'developer', organizationId }) };
  }

  get keys(): ApiKeyService {
    return this.gateway.app.get(ApiKeyService, { strict: false });
  }

  async disable({ customer }: Subject): Promise<void> {
    await this.keys.disable(customer.keyId, customer.organizationId, COMMAND_LINE);
  }

  async explain(
    { customer, developer }: Subject,
    request: object,
    operation: Operation | 'createTranscription' = 'createChatCompletion',
    fields: { readonly client_ip?: string | null } = {},
  ): Promise<CallReply['json']> {
    const body = { key_id: customer.keyId, operation, request, ...fields };
    const { status, json, text } = await developer.call('/dashboard/api/explain', { body });
    if (status !== 200) throw new Error(`not explained: ${text}`);
    return json;
  }

  send({ customer }: Subject, request: object, operation: Operation = 'createChatCompletion'): Promise<CallReply> {
    const headers = { 'idempotency-key': randomUUID() };
    return this.gateway.call(PATHS[operation], { key: customer.key, headers, body: request });
  }

  /** A request whose response does not arrive until it is aborted. */
  async begin(subject: Subject): Promise<{ abandon(): Promise<void> }> {
    const { key, organizationId } = subject.customer;
    const client = new AbortController();
    const body = chat({ stream: true, messages: [{ role: 'user', content: '[[mock: delay=60000]] Hello' }] });
    const { signal } = client;
    const answer = this.gateway.call(PATHS.createChatCompletion, { key, body, signal }).catch(() => undefined);
    const held = async (): Promise<boolean> => {
      const rows = await this.gateway.rows(`SELECT FROM reservation WHERE organization_id = $1 AND state = 'held'`, [
        organizationId,
      ]);
      return rows.length > 0;
    };
    while (!(await held())) await new Promise((resolve) => setTimeout(resolve, 20));
    return {
      abandon: async () => {
        client.abort();
        await answer;
        while (await held()) await new Promise((resolve) => setTimeout(resolve, 20));
      },
    };
  }

  /** The hold of a request, and the deployment that served it or will run the job. */
  async outcomeOf({ headers }: CallReply): Promise<{ readonly holdMicro: number; readonly deployment: string }> {
    const requestId = headers.get('x-request-id')?.slice('req_'.length);
    const [row] = await this.gateway.rows<{ amount: string; deployment: string }>(
      `SELECT r.amount_micro AS amount, COALESCE(u.deployment_uuid::text, j.route[1]) AS deployment
         FROM reservation r LEFT JOIN usage_record u ON u.id = r.id LEFT JOIN media_job j ON j.id = r.id
        WHERE r.id = $1::uuid`,
      [requestId],
    );
    return { holdMicro: Number(row?.amount), deployment: row?.deployment ?? '' };
  }
}

/** Explains a request, sends it, and compares. Returns the explanation. */
export async function expectAgreement(
  stage: ExplainStage,
  subject: Subject,
  request: object,
  operation?: Operation,
): Promise<CallReply['json']> {
  const explained = await stage.explain(subject, request, operation);
  const reply = await stage.send(subject, request, operation);
  if (reply.status >= 400) {
    const { request_id: _requestId, retry_after: _retryAfter, ...error } = reply.json.error;
    const { retry_after: _alsoLater, ...foretold } = explained.error ?? {};
    expect({ accepted: explained.accepted, ...foretold }).toEqual({ accepted: false, status: reply.status, ...error });
    return explained;
  }
  expect([explained.accepted, explained.error]).toEqual([true, null]);
  const { holdMicro, deployment } = await stage.outcomeOf(reply);
  expect([explained.hold_micro, explained.candidates[0].deployment_id]).toEqual([holdMicro, deployment]);
  return explained;
}
