import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { ResponseMemory } from '../../../src/core/http/response-memory';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import type { RequestMemory } from '../../../src/core/types/request-context';
import type { FinishCommand, ReserveCommand } from '../../../src/billing/ledger/money.types';
import type { IdempotencyClaim, IdempotencyCompletion } from '../../../src/core/types/idempotency';
import { reserveCommand, type Account } from '../billing/money-engine';

export const OPERATION = 'createChatCompletion';

export function claimOf(key: string, body = 'a body', atMostOnce = false): IdempotencyClaim {
  return { operation: OPERATION, key, fingerprint: createHash('sha256').update(body).digest('hex'), atMostOnce };
}

export function keyedCommand(account: Account, amountMicro: bigint, claim: IdempotencyClaim): ReserveCommand {
  return { ...reserveCommand(account, amountMicro), claim };
}

export const COMPLETION: IdempotencyCompletion = {
  status: 200,
  contentType: 'application/json',
  headers: { 'x-llm-model': 'mock/chat-1' },
  bodyStored: true,
};

export function completing(command: FinishCommand, completion = COMPLETION): FinishCommand {
  return { ...command, completion };
}

/** The memory of a request that is over. */
const MEMORY: RequestMemory = { growBy: () => {}, onEnd: (listener) => listener() };

/** A request whose client is connected. */
export const REQUEST = { memory: MEMORY, connection: { closed: false, onDisconnect: () => {} } };

export function responseMemory(): ResponseMemory {
  return new ResponseMemory({ http: { maxBufferedBytes: 134_217_728 } as never }, new Metrics());
}

export interface RecordRow {
  readonly key: string;
  readonly state: string;
  readonly reservation_id: string;
  readonly status: number | null;
  readonly headers: Record<string, string> | null;
  readonly charged_micro: string | null;
}

/** The records of an organization, by key. */
export async function recordsOf(pool: Pool, { organizationId }: Account): Promise<RecordRow[]> {
  const { rows } = await pool.query<RecordRow>(
    `SELECT key, state, reservation_id, status, headers, charged_micro::text
       FROM idempotency_record WHERE organization_id = $1 ORDER BY key`,
    [organizationId],
  );
  return rows;
}
