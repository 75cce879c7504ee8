import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { GatewayError } from '../../core/errors/gateway-error';
import { isUuid } from '../../core/types/require-uuid';
import { vendorBillOf } from '../../providers/contract/usage';
import { NotSentError } from './batch-queue';
import { unavailable } from './billing-unavailable';
import {
  type FinishCommand,
  type FinishResult,
  KeyClaimedError,
  type ReserveCommand,
  type StoredPricing,
  type UsageRecord,
} from './money.types';

/*
 * Encodes batches for the money functions and decodes their results (`migrations/functions`: `money_reserve`,
 * `money_finish`). Arrays are joined here: ids and amounts need no quoting, and the driver's conversion costs several
 * times as much as the rest of the call.
 */

const RESERVE = `
  SELECT money_reserve($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::integer[], $6, p_claims => $7::jsonb)`;
const FINISH = `
  SELECT money_finish($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::jsonb, p_completions => $6::jsonb)`;
const VOID = `SELECT '' FROM money_void($1::uuid[], $2::uuid[], $3::uuid[], $4)`;

/** The accounts of these organizations that no transaction has locked. */
export const FIND_FREE_ACCOUNTS = `
  SELECT organization_id FROM organization_account WHERE organization_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED`;

/** A hold whose outcome is unknown, to be released if it exists and prevented if it does not. */
export type VoidCommand = Pick<ReserveCommand, 'reservationId' | 'organizationId' | 'keyId'>;

export function reserveStatement(commands: readonly ReserveCommand[], owner: string): MoneyStatement {
  let ids = '';
  let organizations = '';
  let keys = '';
  let amounts = '';
  let ttls = '';
  let separator = '{';
  for (const command of commands) {
    ids += separator + command.reservationId;
    organizations += separator + command.organizationId;
    keys += separator + command.keyId;
    amounts += separator + command.amountMicro;
    ttls += separator + command.ttlSeconds;
    separator = ',';
  }
  return {
    name: 'money_reserve',
    text: RESERVE,
    values: [`${ids}}`, `${organizations}}`, `${keys}}`, `${amounts}}`, `${ttls}}`, owner, claimsOf(commands)],
  };
}

/** Idempotency claims by position; `null` if the batch has none, the usual case. */
function claimsOf(commands: readonly ReserveCommand[]): string | null {
  if (commands.every(({ claim }) => claim == null)) return null;
  return JSON.stringify(
    commands.map(({ claim }) => claim && [claim.operation, claim.key, claim.fingerprint, claim.atMostOnce]),
  );
}

/** One result per command: `undefined` if the amount is held, otherwise the refusal. */
export function readReserveAnswers(text: string, count: number): (Error | undefined)[] {
  const words = text.split(',');
  return Array.from({ length: count }, (_, position) => {
    const answer = words[position];
    return answer === 'held' ? undefined : readRefusal(answer);
  });
}

/**
 * The error for a refusal of `money_reserve`, which decides the order of the checks (decision *order-of-402*).
 */
export function readRefusal(answer: string | undefined): Error {
  switch (answer) {
    case 'key_claimed':
      return new KeyClaimedError();
    case 'key_daily_budget':
      return new GatewayError('budget_exceeded', 'This request would exceed the daily budget of the API key.', {
        details: { budget: 'key_daily' },
      });
    case 'key_monthly_budget':
      return new GatewayError('budget_exceeded', 'This request would exceed the monthly budget of the API key.', {
        details: { budget: 'key_monthly' },
      });
    case 'organization_monthly_limit':
      return new GatewayError(
        'spending_limit_exceeded',
        'This request would exceed the monthly spending limit of the organization.',
      );
    case 'insufficient_balance':
      return new GatewayError(
        'insufficient_credits',
        'The balance of the organization does not cover the estimated cost of this request.',
      );
    case 'conflict':
      return unavailable();
    default:
      return new GatewayError('internal_error', 'The account of this API key was not found.');
  }
}

export function finishStatement(commands: readonly FinishCommand[]): MoneyStatement {
  let ids = '';
  let organizations = '';
  let outcomes = '';
  let actuals = '';
  let records = '';
  let separator = '{';
  for (const command of commands) {
    ids += separator + command.reservationId;
    organizations += separator + command.organizationId;
    outcomes += separator + command.outcome;
    actuals += separator + command.actualMicro;
    records += (separator === ',' ? ',' : '[') + (command.record === null ? 'null' : recordValues(command.record));
    separator = ',';
  }
  return {
    name: 'money_finish',
    text: FINISH,
    values: [`${ids}}`, `${organizations}}`, `${outcomes}}`, `${actuals}}`, `${records}]`, completionsOf(commands)],
  };
}

/** Completions by position; `null` if the batch has none, the usual case. */
function completionsOf(commands: readonly FinishCommand[]): string | null {
  if (commands.every(({ completion }) => completion == null)) return null;
  return JSON.stringify(
    commands.map(({ completion: each }) => each && [each.status, each.contentType, each.headers, each.bodyStored]),
  );
}

/** A receipt as JSON, in the order of the INSERT in `money_finish`. Rare fields come last and are omitted when null. */
export function recordValues(record: UsageRecord): string {
  const { usage, attemptLog } = record;
  const pricedBy = storedPricing(record);
  const values = [
    record.keyId,
    record.operation,
    record.model,
    record.provider,
    record.deploymentId,
    record.priceVersionId,
    record.status,
    record.errorCode,
    record.streamed,
    record.usageEstimated,
    record.attempts,
    record.firstTokenMs === null ? null : Math.round(record.firstTokenMs),
    Math.round(record.totalMs),
    usage.inputText,
    usage.inputCacheRead,
    usage.inputCacheWrite5m,
    usage.inputCacheWrite1h,
    usage.inputImage,
    usage.inputAudio,
    usage.outputText,
    usage.outputReasoning,
    usage.outputImage,
    usage.outputAudio,
    usage.images,
    usage.seconds,
    usage.characters,
  ];
  if (attemptLog === null && pricedBy === null) return JSON.stringify(values);
  return JSON.stringify([...values, attemptLog, pricedBy]);
}

/** The inputs of the charge besides the counts. A vendor's bill has no column of its own, so it is stored here. */
function storedPricing({ usage, pricedBy }: UsageRecord): StoredPricing | null {
  const billed = vendorBillOf(usage);
  return billed === null ? pricedBy : { ...pricedBy, billed };
}

/**
 * One result per command. When the call is a retry, a reservation that is already in the requested state counts as
 * ended by this call: the first attempt committed, but its response was lost.
 */
export function readFinishAnswers(
  text: string,
  commands: readonly FinishCommand[],
  isRepeated: boolean,
): FinishResult[] {
  const fields = text.split(',');
  return commands.map((command, position) => {
    const state = fields[position * 3];
    const applied = state === 'applied' || (isRepeated && state === command.outcome);
    return {
      applied,
      chargedMicro: BigInt(fields[position * 3 + 1] ?? 0),
      uncollectedMicro: BigInt(fields[position * 3 + 2] ?? 0),
    };
  });
}

export function voidStatement(commands: readonly VoidCommand[], owner: string): MoneyStatement {
  return {
    name: 'money_void',
    text: VOID,
    values: [
      arrayLiteral(commands.map((command) => command.reservationId)),
      arrayLiteral(commands.map((command) => command.organizationId)),
      arrayLiteral(commands.map((command) => command.keyId)),
      owner,
    ],
  };
}

function arrayLiteral(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

/**
 * The receipt without characters that PostgreSQL refuses, and without free text: the attempt log and the price options.
 */
export function toStorableRecord(record: UsageRecord): UsageRecord {
  return {
    ...record,
    operation: toStorableText(record.operation),
    model: toStorableText(record.model),
    provider: record.provider && toStorableText(record.provider),
    deploymentId: toUuid(record.deploymentId),
    priceVersionId: toUuid(record.priceVersionId),
    errorCode: record.errorCode && toStorableText(record.errorCode),
    attemptLog: null,
    pricedBy: null,
  };
}

function toUuid(text: string | null): string | null {
  return text !== null && isUuid(text) ? text : null;
}

function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

/** A prepared statement whose only row has one text column. */
export interface MoneyStatement {
  readonly name: string;
  readonly text: string;
  readonly values: (string | null)[];
}

/**
 * A dedicated connection of one batch queue: acquiring and releasing one per query would cost more than the query. Any
 * failure other than an SQL error closes it, and the next query opens a new one. The pool's timeouts end a query that
 * hangs.
 */
export class MoneyConnection {
  private client: PoolClient | null = null;

  constructor(private readonly pool: Pool) {}

  /** @throws NotSentError without a connection; DatabaseError when refused; any other error: the outcome is unknown. */
  async query(statement: MoneyStatement): Promise<string> {
    const client = this.client ?? (await this.connect());
    try {
      const { rows } = await client.query<string[]>({
        name: statement.name,
        text: statement.text,
        values: statement.values,
        rowMode: 'array',
      });
      return rows[0]?.[0] ?? '';
    } catch (error) {
      if (!isAboutTheStatement(error)) {
        this.drop(client);
      }
      throw error;
    }
  }

  /** Ends the connection; a running query fails with an unknown outcome. */
  close(): void {
    if (this.client !== null) {
      this.drop(this.client);
    }
  }

  private async connect(): Promise<PoolClient> {
    try {
      const client = await this.pool.connect();
      // Without a listener, a connection that breaks between two queries would crash the process.
      client.on('error', () => this.drop(client));
      this.client = client;
      return client;
    } catch (error) {
      this.close();
      throw new NotSentError('No connection to the database', { cause: error });
    }
  }

  private drop(client: PoolClient): void {
    if (this.client === client) {
      this.client = null;
      client.release(true);
    }
  }
}

/**
 * Whether the connection is still usable. Class 25 means that the server's role changed: a former primary that is now
 * read-only would refuse every later batch.
 */
function isAboutTheStatement(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === 'ERROR' && error.code?.startsWith('25') !== true;
}

/**
 * Runs the statement on a pooled connection that is released at once.
 * @throws NotSentError without a connection; DatabaseError when refused; any other error: the outcome is unknown.
 */
export async function queryOnce(pool: Pool, { text, values }: MoneyStatement): Promise<string> {
  const client = await pool.connect().catch((cause: unknown) => {
    throw new NotSentError('No connection to the database', { cause });
  });
  let isBroken = false;
  try {
    const { rows } = await client.query<string[]>({ text, values, rowMode: 'array' });
    return rows[0]?.[0] ?? '';
  } catch (error) {
    isBroken = !isAboutTheStatement(error);
    throw error;
  } finally {
    client.release(isBroken);
  }
}
