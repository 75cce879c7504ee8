import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { DEFAULT_BILLING_OPTIONS, type BillingOptions } from '../../../src/billing/ledger/billing-options';
import { InstanceLeaseService } from '../../../src/billing/ledger/instance-lease.service';
import { LedgerService } from '../../../src/billing/ledger/ledger.service';
import type { FinishCommand, ReserveCommand, UsageRecord } from '../../../src/billing/ledger/money.types';
import { ReservationService } from '../../../src/billing/ledger/reservation.service';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import { uuidV7 } from '../../../src/core/types/ids';
import { createMoneyPool } from '../../../src/core/database/money-pool';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { PATIENCE_MS, patientDatabase } from '../../harness/database';

// Several tests break the database on purpose.
Logger.overrideLogger(false);

const POOL = { poolSize: 4, onPoolError: (): void => undefined };
/** A clock that stands still, so that no caller times out. */
export const PATIENT_CLOCK: Clock = { ...systemClock, monotonic: () => 0 };

/** The billing parts of one gateway process: pool, queues and lease. */
export interface MoneyEngine {
  readonly pool: Pool;
  readonly reservations: ReservationService;
  readonly lease: InstanceLeaseService;
  readonly ledger: LedgerService;
  close(): Promise<void>;
}

/** An engine without timeouts, so that results do not depend on the speed of the machine. */
export function startMoneyEngine(url: string, overrides: Partial<BillingOptions> = {}): MoneyEngine {
  const patience = { reserveMaxWaitMs: PATIENCE_MS, finishMaxWaitMs: PATIENCE_MS };
  const options = { ...DEFAULT_BILLING_OPTIONS, ...patience, ...overrides };
  const poolSize = 2 * options.lanes + 2;
  const pool = createMoneyPool({ ...POOL, poolSize, url: patientDatabase(url), connectTimeoutMs: PATIENCE_MS });
  return open(pool, options, PATIENT_CLOCK);
}

/** An engine with the real time limits. */
export function startPunctualMoneyEngine(url: string, overrides: Partial<BillingOptions> = {}): MoneyEngine {
  return open(createMoneyPool({ ...POOL, url }), { ...DEFAULT_BILLING_OPTIONS, ...overrides }, systemClock);
}

function open(pool: Pool, options: BillingOptions, clock: Clock): MoneyEngine {
  const lease = new InstanceLeaseService(pool, options);
  const reservations = new ReservationService(pool, lease, clock, options, new Metrics());
  return {
    pool,
    lease,
    reservations,
    ledger: new LedgerService(pool),
    close: async () => {
      await reservations.drain();
      if (lease.isStarted) await lease.stop();
      await pool.end();
    },
  };
}

/** Checks only money invariants: most tests write no receipts. @throws Error that lists the first violations. */
export async function requireSoundBooks({ pool }: Pick<MoneyEngine, 'pool'>): Promise<void> {
  const { rows } = await pool.query<{ invariant: string; subject: string }>('SELECT * FROM money_violations LIMIT 20');
  if (rows.length > 0) {
    throw new Error(rows.map(({ invariant, subject }) => `${invariant}: ${subject}`).join('; '));
  }
}

export interface Account {
  readonly organizationId: string;
  readonly keyId: string;
}

export interface AccountSettings {
  /** Default: a new one. */
  readonly organizationId?: string;
  readonly balanceMicro?: bigint;
  readonly monthlyLimitMicro?: bigint;
  readonly dailyBudgetMicro?: bigint;
  readonly monthlyBudgetMicro?: bigint;
}

/** A new organization with one key and, by default, a large balance. */
export async function createAccount(pool: Pool, settings: AccountSettings = {}): Promise<Account> {
  const { organizationId = randomUUID(), balanceMicro = 10n ** 15n, monthlyLimitMicro = null } = settings;
  await pool.query(`INSERT INTO organization (id, name) VALUES ($1, 'money test')`, [organizationId]);
  await pool.query(
    `INSERT INTO organization_account (organization_id, operator_monthly_limit_micro, monthly_limit_micro)
     VALUES ($1, $2, $2)`,
    [organizationId, monthlyLimitMicro],
  );
  if (balanceMicro > 0n) {
    await new LedgerService(pool).topUp(organizationId, balanceMicro, 'opening balance');
  }
  return { organizationId, keyId: await createKey(pool, organizationId, settings) };
}

export async function createKey(pool: Pool, organizationId: string, settings: AccountSettings = {}): Promise<string> {
  const keyId = randomUUID();
  await pool.query(
    `INSERT INTO api_key (id, organization_id, name, digest, prefix, last4, daily_budget_micro, monthly_budget_micro)
     VALUES ($1, $2, 'money test', $3, 'sk-llm-test', 'test', $4, $5)`,
    [
      keyId,
      organizationId,
      Buffer.from(keyId.replaceAll('-', '').repeat(2), 'hex'),
      settings.dailyBudgetMicro ?? null,
      settings.monthlyBudgetMicro ?? null,
    ],
  );
  return keyId;
}

export function newId(): string {
  return uuidV7(systemClock.now());
}

export function reserveCommand(account: Account, amountMicro: bigint, reservationId = newId()): ReserveCommand {
  return { ...account, reservationId, amountMicro, ttlSeconds: 600 };
}

export function settleCommand(
  { reservationId, organizationId, keyId }: ReserveCommand,
  actualMicro: bigint,
  record: Partial<UsageRecord> | null = null,
): FinishCommand {
  return {
    reservationId,
    organizationId,
    outcome: 'settled',
    actualMicro,
    record: record === null ? null : { ...exampleRecord(reservationId, { organizationId, keyId }), ...record },
  };
}

export function releaseCommand({ reservationId, organizationId }: ReserveCommand): FinishCommand {
  return { reservationId, organizationId, outcome: 'released', actualMicro: 0n, record: null };
}

export function exampleRecord(id: string, account: Account): UsageRecord {
  return {
    ...account,
    id,
    operation: 'createChatCompletion',
    model: 'mock/chat-1',
    provider: 'mock',
    deploymentId: '1501708b-cd9e-8bcb-9f17-d5691a74fcbc',
    priceVersionId: '01a226dc-c399-7256-aaf5-f990e838c725',
    status: 200,
    errorCode: null,
    streamed: true,
    usage: { ...NO_USAGE, inputText: 120, outputText: 64, seconds: 1.5 },
    usageEstimated: false,
    attempts: 1,
    attemptLog: null,
    pricedBy: null,
    firstTokenMs: 12.4,
    totalMs: 345.6,
  };
}
