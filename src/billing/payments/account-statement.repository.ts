import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { decodeCursor } from '../../core/types/cursor';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Micro } from '../../core/types/micro';
import { type Page, type PageRequest, textOfTime, toPage } from '../../core/types/page';

export type LedgerEntryKind = 'topup' | 'charge' | 'refund' | 'adjust';

/** The balance of an organization and its spending in the current calendar month (UTC). */
export interface AccountState {
  readonly balanceMicro: Micro;
  readonly reservedMicro: Micro;
  readonly monthSpentMicro: Micro;
}

/** An amount held for an open request or a job. */
export interface Hold {
  /** Id of the request, which its job shares. */
  readonly id: string;
  readonly isJob: boolean;
  readonly keyId: string;
  readonly amountMicro: Micro;
  readonly createdAt: Date;
}

export interface LedgerLine {
  readonly id: string;
  readonly kind: LedgerEntryKind;
  /** Change of the balance. */
  readonly deltaMicro: Micro;
  /** The balance after the entry; `null` for entries from before it was recorded. */
  readonly balanceAfterMicro: Micro | null;
  /** For a charge: the request, whose job has the same id. */
  readonly requestId: string | null;
  readonly isJob: boolean;
  readonly keyId: string | null;
  /** For a payment and for refunds of it. */
  readonly purchaseId: string | null;
  /** For all kinds but charges. */
  readonly reference: string | null;
  readonly createdAt: Date;
  /** `createdAt` with microseconds. */
  readonly createdAtText: string;
}

export interface LedgerFilter {
  readonly kind?: LedgerEntryKind;
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

/**
 * By at most so many days, the day of a charge differs from the one in the id of its request. Most differ by less than
 * ten, which a job may take; more only after a long outage, or by the clock of the process that received the request.
 */
const DAYS_OF_REQUESTS = 31;

const STATE = `
  SELECT a.balance_micro::text AS balance, a.reserved_micro::text AS reserved, COALESCE(w.spent_micro, 0)::text AS spent
    FROM organization_account a
    LEFT JOIN spend_window w
      ON w.organization_id = a.organization_id AND w.scope = 1 AND w.scope_id = a.organization_id
     AND w.window_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date
   WHERE a.organization_id = $1`;

const HOLDS = `
  SELECT id, owner = 'media_job' AS is_job, key_id, amount_micro::text AS amount, created_at,
         ${textOfTime('created_at')} AS position
    FROM hold
   WHERE organization_id = $1
     AND ($2::timestamptz IS NULL OR (created_at, id) < ($2::timestamptz, $3::uuid))
   ORDER BY created_at DESC, id DESC LIMIT $4`;

interface HoldRow {
  readonly id: string;
  readonly is_job: boolean;
  readonly key_id: string;
  readonly amount: string;
  readonly created_at: Date;
  readonly position: string;
}

interface LedgerRow {
  readonly id: string;
  readonly kind: LedgerEntryKind;
  readonly delta: string;
  readonly balance_after: string | null;
  readonly reservation_id: string | null;
  readonly is_job: boolean | null;
  readonly key_id: string | null;
  readonly purchase_id: string | null;
  readonly reference: string | null;
  readonly created_at: Date;
  readonly position: string;
}

/** Read-only queries for members on their account. */
@Injectable()
export class AccountStatementRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws GatewayError `not_found`. */
  async getState(organizationId: string): Promise<AccountState> {
    const [row]: { balance: string; reserved: string; spent: string }[] = await this.dataSource.query(STATE, [
      organizationId,
    ]);
    if (row === undefined) throw new GatewayError('not_found', 'There is no such organization.');
    return {
      balanceMicro: BigInt(row.balance),
      reservedMicro: BigInt(row.reserved),
      monthSpentMicro: BigInt(row.spent),
    };
  }

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  async findHolds(organizationId: string, { limit, cursor }: PageRequest): Promise<Page<Hold>> {
    const [time = null, id = null] = cursor === null ? [] : decodeCursor(cursor, ['time', 'uuid']);
    const rows: HoldRow[] = await this.dataSource.query(HOLDS, [organizationId, time, id, limit + 1]);
    const page = toPage(rows, limit, (last) => [last.position, last.id]);
    return {
      items: page.items.map((row) => ({
        id: row.id,
        isJob: row.is_job,
        keyId: row.key_id,
        amountMicro: BigInt(row.amount),
        createdAt: row.created_at,
      })),
      nextCursor: page.nextCursor,
    };
  }

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  async findLedgerLines(
    organizationId: string,
    filter: LedgerFilter,
    { limit, cursor }: PageRequest,
  ): Promise<Page<LedgerLine>> {
    const [time = null, id = null] = cursor === null ? [] : decodeCursor(cursor, ['time', 'integer']);
    const rows: LedgerRow[] = await this.dataSource.query(ledgerQuery(filter), [
      organizationId,
      time,
      id,
      filter.from ?? null,
      filter.to ?? null,
      limit + 1,
      ...(filter.kind === undefined ? [] : [filter.kind]),
    ]);
    const page = toPage(rows, limit, (last) => [last.position, last.id]);
    return { items: page.items.map(toLedgerLine), nextCursor: page.nextCursor };
  }

  /** The UTC day, `YYYY-MM-DD`, of the oldest requests whose charges are in the ledger; `null`: all charges are. */
  async chargesKeptFrom(): Promise<string | null> {
    const [row] = await this.dataSource.query<{ day: string | null }[]>('SELECT ledger_kept_from()::text AS day');
    return row?.day ?? null;
  }

  /**
   * The whole ledger in pages of `pageSize`, newest first, read on demand. Entries booked in the meantime are newer
   * than the first page and are not included.
   * @throws Error at the end when charges from `keptFrom` on were archived in the meantime: some may be missing
   */
  async *readLedger(
    organizationId: string,
    filter: LedgerFilter,
    { pageSize, keptFrom }: { readonly pageSize: number; readonly keptFrom: string | null },
  ): AsyncGenerator<readonly LedgerLine[], void> {
    let cursor: string | null = null;
    do {
      const page: Page<LedgerLine> = await this.findLedgerLines(organizationId, filter, { limit: pageSize, cursor });
      yield page.items;
      cursor = page.nextCursor;
    } while (cursor !== null);
    if ((await this.chargesKeptFrom()) !== keptFrom) throw new Error('Charges were archived during the export.');
  }
}

/**
 * Reads charges only if the kind includes them. The condition must be literal for the planner to recognize it. The
 * bounds of the requests' ids are constants of the plan, so that partitions of other days cost nothing.
 */
function ledgerQuery({ kind }: LedgerFilter): string {
  const ofKind = kind === undefined ? '' : `AND l.kind = $7 ${kind === 'charge' ? '' : `AND l.kind <> 'charge'`}`;
  return `
    SELECT l.id::text AS id, l.kind, l.organization_delta_micro::text AS delta,
           l.balance_after_micro::text AS balance_after, l.reservation_id, l.is_job, l.key_id,
           p.id AS purchase_id, l.external_reference AS reference, l.created_at,
           ${textOfTime('l.created_at')} AS position
      FROM ledger_entry l
      LEFT JOIN purchase p ON l.kind <> 'charge' AND p.organization_id = l.organization_id
                          AND p.provider = split_part(l.external_reference, ':', 1)
                          AND p.payment_reference = split_part(l.external_reference, ':', 2)
     WHERE l.organization_id = $1 ${ofKind}
       AND ($2::timestamptz IS NULL OR (l.created_at, l.id) < ($2::timestamptz, $3::bigint))
       AND ($4::timestamptz IS NULL OR l.created_at >= $4::timestamptz)
       AND ($5::timestamptz IS NULL OR l.created_at < $5::timestamptz)
       AND ($4::timestamptz IS NULL OR l.reservation_id IS NULL
            OR l.reservation_id >= first_id_of(($4::timestamptz AT TIME ZONE 'UTC')::date - ${DAYS_OF_REQUESTS}))
       AND (LEAST($2::timestamptz, $5::timestamptz) IS NULL OR l.reservation_id IS NULL
            OR l.reservation_id <= last_id_of((LEAST($2::timestamptz, $5::timestamptz) AT TIME ZONE 'UTC')::date
                                              + ${DAYS_OF_REQUESTS}))
     ORDER BY l.created_at DESC, l.id DESC LIMIT $6`;
}

function toLedgerLine(row: LedgerRow): LedgerLine {
  return {
    id: row.id,
    kind: row.kind,
    deltaMicro: BigInt(row.delta),
    balanceAfterMicro: row.balance_after === null ? null : BigInt(row.balance_after),
    requestId: row.reservation_id,
    isJob: row.is_job === true,
    keyId: row.key_id,
    purchaseId: row.purchase_id,
    reference: row.reference,
    createdAt: row.created_at,
    createdAtText: row.position,
  };
}
