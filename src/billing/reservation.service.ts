import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { CLOCK, type Clock } from '../common/clock';
import { MONEY_POOL } from '../database/money-pool';
import { NO_USAGE } from '../providers/contract/usage';
import { Semaphore } from '../common/semaphore';
import { AccountLanes } from './account-lanes';
import { BatchQueue, unavailable } from './batch-queue';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { InstanceLeaseService } from './instance-lease.service';
import { MoneyConnection, type MoneyStatement, queryOnce } from './money-connection';
import {
  FIND_FREE_ACCOUNTS,
  finishStatement,
  readFinishAnswers,
  readReserveAnswers,
  reserveStatement,
  voidStatement,
  type VoidCommand,
} from './money-statements';
import type { FinishCommand, FinishResult, ReserveCommand } from './money.types';

/** Of any account: a batch that waits for one of them keeps the others waiting. */
const LOCK_TIMEOUT_MS = 250;
/** Of the usual patience: whoever needs an account that is locked is to know within 1.5 s (faults F-13). */
const ASIDE_PATIENCE_SHARE = 2 / 3;

/**
 * Holds money for requests and ends the holds. Every call is idempotent by reservation id, so a batch whose answer was
 * lost is simply sent again; a hold that may or may not exist is voided. Every hold ends: by its request, by the
 * persistent queue, or by the sweeper when this process is gone.
 */
@Injectable()
export class ReservationService {
  private readonly logger = new Logger(ReservationService.name);
  private readonly reserving: MoneyConnection;
  private readonly ending: MoneyConnection;
  private readonly reservations: AccountLanes<ReserveCommand, undefined>;
  private readonly endings: AccountLanes<FinishCommand, FinishResult>;
  private readonly voids: BatchQueue<VoidCommand, undefined>;
  /** One at a time, of both queues, since most connections are for those that nobody holds up. */
  private readonly aside = new Semaphore(1);
  private closing = false;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    lease: InstanceLeaseService,
    @Inject(CLOCK) clock: Clock,
    @Inject(BILLING_OPTIONS) private readonly options: BillingOptions,
  ) {
    const owner = lease.instanceId;
    this.reserving = new MoneyConnection(pool, LOCK_TIMEOUT_MS);
    this.ending = new MoneyConnection(pool, LOCK_TIMEOUT_MS);
    const findHeldUp = (organizationIds: readonly string[]) => this.findHeldUp(organizationIds);
    const onFailure = (error: unknown, attempt: number): void => this.logFailure(error, attempt);
    this.reservations = new AccountLanes<ReserveCommand, undefined>({
      clock,
      patienceMs: options.reservePatienceMs,
      asidePatienceMs: options.reservePatienceMs * ASIDE_PATIENCE_SHARE,
      persistent: false,
      execute: async (commands) =>
        readReserveAnswers(await this.reserving.query(reserveStatement(commands, owner)), commands.length),
      executeAside: async (commands) =>
        readReserveAnswers(await this.queryAside(reserveStatement(commands, owner)), commands.length),
      findHeldUp,
      onAbandoned: (command) => this.voidInBackground(command),
      onFailure,
    });
    this.endings = new AccountLanes<FinishCommand, FinishResult>({
      clock,
      patienceMs: options.finishPatienceMs,
      asidePatienceMs: options.finishPatienceMs,
      persistent: true,
      execute: async (commands, attempt) =>
        readFinishAnswers(await this.ending.query(finishStatement(commands)), commands, attempt > 1),
      executeAside: async (commands, attempt) =>
        readFinishAnswers(await this.queryAside(finishStatement(commands)), commands, attempt > 1),
      findHeldUp,
      whenTurnedAway: releaseUndelivered,
      salvage: (command, error) => this.withoutRecord(command, error),
      onFailure,
    });
    this.voids = new BatchQueue<VoidCommand, undefined>({
      clock,
      patienceMs: Number.POSITIVE_INFINITY,
      persistent: true,
      execute: async (commands) => {
        await pool.query(voidStatement(commands, owner));
        return [];
      },
      onFailure,
    });
  }

  /**
   * Resolves once the amount is held, durably.
   * @throws KeyClaimedError when `claim` came too late;
   * GatewayError `budget_exceeded` (details: which), `spending_limit_exceeded`, `insufficient_credits`;
   * `service_unavailable` when the engine is overloaded, stopping, or had no answer in time: nothing stays held then.
   */
  reserve(command: ReserveCommand): Promise<void> {
    const { organizationId } = command;
    if (this.closing || this.reservations.isCongested(organizationId) || this.endings.isCongested(organizationId)) {
      return Promise.reject(unavailable());
    }
    return this.reservations.push(command);
  }

  /**
   * Ends a hold and writes the request's receipt in one transaction. Resolves when it is committed.
   * @throws GatewayError `service_unavailable` when that takes too long; the hold is still ended in the background, by
   * this charge or, with `releaseIfTurnedAway`, without one. An attempt whose outcome is unknown may have charged.
   */
  finish(command: FinishCommand): Promise<FinishResult> {
    return this.endings.push(command);
  }

  /** Admits nothing more and waits for what is under way. `false`: some holds are left to the sweeper. */
  async drain(): Promise<boolean> {
    this.closing = true;
    const { drainTimeoutMs } = this.options;
    const reserved = await this.reservations.drain(drainTimeoutMs);
    const [ended, voided] = await Promise.all([this.endings.drain(drainTimeoutMs), this.voids.drain(drainTimeoutMs)]);
    this.reserving.close();
    this.ending.close();
    return reserved && ended && voided;
  }

  private queryAside(statement: MoneyStatement): Promise<string> {
    return this.aside.run(() => queryOnce(this.pool, statement, LOCK_TIMEOUT_MS));
  }

  private async findHeldUp(organizationIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.pool.query<{ organization_id: string }>(FIND_FREE_ACCOUNTS, [organizationIds]);
    const free = new Set(rows.map((row) => row.organization_id));
    return new Set(organizationIds.filter((id) => !free.has(id)));
  }

  private voidInBackground(command: VoidCommand): void {
    this.voids.push(command).catch((error: unknown) => {
      this.logger.error(`Hold ${command.reservationId} could not be voided: ${String(error)}`);
    });
  }

  /** A receipt that the database cannot store (a NUL in a model name, say) must not keep the charge from being made. */
  private withoutRecord(command: FinishCommand, error: unknown): FinishCommand | null {
    this.logger.error(`Hold ${command.reservationId} could not be ended: ${String(error)}`);
    return command.record === null ? null : { ...command, record: null };
  }

  private logFailure(error: unknown, attempt: number): void {
    if (attempt === 1) {
      this.logger.warn(`A batch of money operations failed and is tried again: ${String(error)}`);
    }
  }
}

/** The client was told that the service is unavailable, so that is what happened. */
function releaseUndelivered(command: FinishCommand): FinishCommand {
  if (command.releaseIfTurnedAway !== true) return command;
  const { record } = command;
  return {
    ...command,
    outcome: 'released',
    actualMicro: 0n,
    completion: null,
    record: record && {
      ...record,
      status: 503,
      errorCode: 'service_unavailable',
      usage: NO_USAGE,
      usageEstimated: false,
    },
  };
}
