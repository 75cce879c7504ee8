import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { LedgerService } from '../../../src/billing/ledger/ledger.service';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from '../../../src/auth/idempotency/response-store';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

export const PATH = '/v1/chat/completions';
export const BODY = { model: 'local/chat', messages: [{ role: 'user', content: 'hi' }] };
export const STREAM_BODY = { ...BODY, stream: true };

export interface SpendState {
  readonly balance: number;
  readonly reserved: number;
  readonly receipts: number;
}

/** A gateway and an upstream that counts its calls and never sends the same text twice. */
export class KeyedGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly upstream: FakeUpstream,
    private readonly catalog: { remove(): void },
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<KeyedGateway> {
    const upstream = await FakeUpstream.start();
    const catalog = createCatalog();
    const gateway = await TestGateway.start({
      OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
      CATALOG_DIR: catalog.path,
      ...environment,
    });
    const keyed = new KeyedGateway(gateway, upstream, catalog);
    keyed.answerWell();
    return keyed;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
    this.catalog.remove();
  }

  /** Changes the records of a customer and their seals, so that the auditor accepts them as genuine. */
  async rewriteRecords({ organizationId }: TestCustomer, assignments: string): Promise<void> {
    await this.gateway.rows(`UPDATE idempotency_record SET ${assignments} WHERE organization_id = $1`, [
      organizationId,
    ]);
    await this.gateway.rows(
      `UPDATE idempotency_seal s SET expires_at = d.expires_at, digest = idempotency_record_digest(d)
         FROM idempotency_record d WHERE s.reservation_id = d.reservation_id AND d.organization_id = $1`,
      [organizationId],
    );
  }

  /** Number of upstream calls so far. */
  get asked(): number {
    return this.upstream.received.length;
  }

  /** From now on every upstream response succeeds and is unique. */
  answerWell(): void {
    this.upstream.answer = (response, { body }) => {
      const words = `Hello ${randomUUID()} é`;
      if (JSON.parse(body).stream === true) void this.streamWords(response, words);
      else answerWhole(response, words);
    };
  }

  /** From now on every upstream call ends with this status. */
  answerStatus(status: number, headers: Record<string, string> = {}): void {
    this.upstream.answer = (response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ error: { message: 'no', type: 'invalid_request_error', param: 'temperature' } }));
    };
  }

  /** The next upstream calls wait; `release` completes all of them. */
  hold(): { release(): void; readonly waiting: number } {
    const waiting: (() => void)[] = [];
    this.upstream.answer = (response, request) => waiting.push(() => this.upstream.answer(response, request));
    return {
      release: () => {
        this.answerWell();
        waiting.splice(0).forEach((answer) => answer());
      },
      get waiting() {
        return waiting.length;
      },
    };
  }

  call(customer: TestCustomer, idempotencyKey: string, body: unknown = BODY): Promise<CallReply> {
    return this.gateway.call(PATH, { key: customer.key, headers: { 'idempotency-key': idempotencyKey }, body });
  }

  /** The same, retried while a busy machine refuses it. */
  async callUntilServed(customer: TestCustomer, idempotencyKey: string): Promise<CallReply> {
    for (;;) {
      const reply = await this.call(customer, idempotencyKey);
      if (reply.status !== 503) return reply;
    }
  }

  /** Spending and receipts so far. */
  async spent({ organizationId }: TestCustomer): Promise<SpendState> {
    const [row] = await this.gateway.rows<{ balance: string; reserved: string; receipts: string }>(
      `SELECT balance_micro AS balance, reserved_micro AS reserved,
              (SELECT count(*) FROM usage_record u WHERE u.organization_id = a.organization_id) AS receipts
         FROM organization_account a WHERE organization_id = $1`,
      [organizationId],
    );
    return { balance: Number(row?.balance), reserved: Number(row?.reserved), receipts: Number(row?.receipts) };
  }

  /** Record states of a customer. */
  async states({ organizationId }: TestCustomer): Promise<string[]> {
    const rows = await this.gateway.rows<{ state: string }>(
      'SELECT state FROM idempotency_record WHERE organization_id = $1',
      [organizationId],
    );
    return rows.map(({ state }) => state);
  }

  /** Takes all money that is not held. */
  async takeMoney(customer: TestCustomer): Promise<void> {
    const { balance, reserved } = await this.spent(customer);
    const ledger = this.gateway.app.get(LedgerService, { strict: false });
    await ledger.refund(customer.organizationId, BigInt(balance - reserved), randomUUID());
  }

  /** Changes the storage limits until `restore`. */
  limit(options: Partial<IdempotencyOptions>): { restore(): void } {
    const current = this.gateway.app.get<IdempotencyOptions>(IDEMPOTENCY_OPTIONS, { strict: false });
    const before = { ...current };
    Object.assign(current, options);
    return { restore: () => Object.assign(current, before) };
  }

  /** A stream of these words, one event each, 5 ms apart. */
  private async streamWords(response: ServerResponse, words: string): Promise<void> {
    response.setHeader('content-type', 'text/event-stream');
    for (const word of words.split(' ')) {
      response.write(chunk({ content: `${word} ` }));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    response.end(chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]'));
  }
}

export function answerWhole(response: ServerResponse, content: string, fields: object = {}): void {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      id: 'chatcmpl-1',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
      ...fields,
    }),
  );
}

/** Resolves when the condition is true. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const startedAtMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAtMs > withinMs) throw new Error(`not so within ${withinMs} ms: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
