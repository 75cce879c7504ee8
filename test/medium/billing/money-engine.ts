import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { DEFAULT_BILLING_OPTIONS, type BillingOptions } from '../../../src/billing/billing-options';
import { InstanceLeaseService } from '../../../src/billing/instance-lease.service';
import { LedgerService } from '../../../src/billing/ledger.service';
import type { FinishCommand, ReserveCommand } from '../../../src/billing/money.types';
import { ReservationService } from '../../../src/billing/reservation.service';
import type { UsageRecord } from '../../../src/billing/usage-record';
import { type Clock, systemClock } from '../../../src/common/clock';
import { uuidV7 } from '../../../src/common/ids';
import { createMoneyPool } from '../../../src/database/money-pool';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { PATIENCE_MS, patientDatabase } from '../../harness/database';

// Several tests break the database on purpose.
Logger.overrideLogger(false);

const POOL = { poolSize: 4, onPoolError: (): void => undefined };
/** Nobody has waited, however long it took. */
export const PATIENT_CLOCK: Clock = { ...systemClock, monotonic: () => 0 };

/** What one gateway process has for money: its pool, its queues, its lease. */
export interface MoneyEngine {
  readonly pool: Pool;
  readonly reservations: ReservationService;
  readonly lease: InstanceLeaseService;
  readonly ledger: LedgerService;
  close(): Promise<void>;
}

/** One that refuses nobody for having waited: how long things take is up to the machine. */
export function startMoneyEngine(url: string, overrides: Partial<BillingOptions> = {}): MoneyEngine {
  const patience = { reservePatienceMs: PATIENCE_MS, finishPatienceMs: PATIENCE_MS };
  const options = { ...DEFAULT_BILLING_OPTIONS, ...patience, ...overrides };
  const pool = createMoneyPool({ ...POOL, url: patientDatabase(url), connectTimeoutMs: PATIENCE_MS });
  return open(pool, options, PATIENT_CLOCK);
}

/** One that keeps to the time limits of the design. */
export function startPunctualMoneyEngine(url: string, overrides: Partial<BillingOptions> = {}): MoneyEngine {
  return open(createMoneyPool({ ...POOL, url }), { ...DEFAULT_BILLING_OPTIONS, ...overrides }, systemClock);
}

function open(pool: Pool, options: BillingOptions, clock: Clock): MoneyEngine {
  const lease = new InstanceLeaseService(pool, options);
  const reservations = new ReservationService(pool, lease, clock, options);
  return {
    pool,
    lease,
    reservations,
    ledger: new LedgerService(pool),
    close: async () => {
      await reservations.drain();
      await pool.end();
    },
  };
}

/** @throws Error that lists the broken invariants. */
export async function requireSoundBooks({ ledger }: Pick<MoneyEngine, 'ledger'>): Promise<void> {
  const violations = await ledger.verify();
  if (violations.length > 0) {
    throw new Error(violations.map(({ invariant, subject }) => `${invariant}: ${subject}`).join('; '));
  }
}

export interface Account {
  readonly organizationId: string;
  readonly keyId: string;
}

export interface AccountSettings {
  readonly balanceMicro?: bigint;
  readonly monthlyLimitMicro?: bigint;
  readonly dailyBudgetMicro?: bigint;
  readonly monthlyBudgetMicro?: bigint;
}

/** A new organization with one key and, unless told otherwise, plenty of money. */
export async function createAccount(pool: Pool, settings: AccountSettings = {}): Promise<Account> {
  const organizationId = randomUUID();
  const { balanceMicro = 10n ** 15n, monthlyLimitMicro = null } = settings;
  await pool.query(`INSERT INTO organization (id, name) VALUES ($1, 'money test')`, [organizationId]);
  await pool.query('INSERT INTO organization_account (organization_id, monthly_limit_micro) VALUES ($1, $2)', [
    organizationId,
    monthlyLimitMicro,
  ]);
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
    deploymentId: 'mock-chat',
    priceVersionId: null,
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
