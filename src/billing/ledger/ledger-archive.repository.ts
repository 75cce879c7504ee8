import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { hasSqlState } from '../../core/database/driver-error';
import { readDeploymentId } from '../../core/redis/deployment-identity';
import { toArchiveKey } from '../../core/storage/object-key';
import { textOfTime } from '../../core/types/page';
import { type ArchivedDay, type DaySums, totalOf } from './archived-day';

/** The recorded export of a UTC day. */
export interface ArchiveRecord {
  readonly objectKey: string;
  readonly contentDigest: Buffer;
}

/** Whole lines, each with a line feed. */
interface Lines {
  readonly text: string;
  readonly count: number;
}

interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

const UNDEFINED_TABLE = '42P01';
/** Longer than the time between two renewals, even on a busy machine. */
const CLAIM_MINUTES = 10;

/**
 * The day of the oldest requests that are not archived, if it may be archived. Days are archived in order, so an open
 * day blocks all later ones.
 */
const FIND_DUE = `
  SELECT next.day::text AS day
    FROM (SELECT day_of_id(r.id) AS day FROM ended_reservation r
           WHERE r.id >= COALESCE((SELECT first_id_of(ledger_kept_from())), '00000000-0000-0000-0000-000000000000')
           ORDER BY r.id LIMIT 1) next
    JOIN ledger_day d ON d.day = next.day
   WHERE d.closed_at IS NOT NULL AND next.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer
     AND NOT EXISTS (SELECT FROM hold h WHERE h.id <= last_id_of(next.day))`;
const CLAIM = `
  INSERT INTO ledger_archive AS a (day, claimed_by, claimed_until)
  VALUES ($1, $2, clock_timestamp() + make_interval(mins => ${CLAIM_MINUTES}))
  ON CONFLICT (day) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
   WHERE a.exported_at IS NULL AND a.claimed_until < clock_timestamp()
  RETURNING day`;
/**
 * Only while the claim is held: after a failed upload the claim is given back, but rows may still be read for a moment.
 */
const RENEW = `
  UPDATE ledger_archive SET claimed_until = clock_timestamp() + make_interval(mins => ${CLAIM_MINUTES})
   WHERE day = $1 AND claimed_by = $2 AND claimed_until > '-infinity' AND exported_at IS NULL RETURNING day`;
const GIVE_BACK = `
  UPDATE ledger_archive SET claimed_until = '-infinity' WHERE day = $1 AND claimed_by = $2 AND exported_at IS NULL`;
/** `lines`: NDJSON without the last line feed; the columns that `ledger_sums` covers. */
const READ_PAGE = `
  SELECT string_agg(row_to_json(page)::text, E'\\n' ORDER BY id, organization_id) AS lines, count(*)::integer AS count,
         (array_agg(id ORDER BY id DESC, organization_id DESC))[1] AS last_id,
         (array_agg(organization_id ORDER BY id DESC, organization_id DESC))[1] AS last_organization
    FROM (SELECT id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, entry_id,
                 balance_after_micro, ${textOfTime('created_at')} AS created_at, ${textOfTime('ended_at')} AS ended_at, is_job
            FROM ended_reservation
           WHERE id BETWEEN first_id_of($1::date) AND last_id_of($1::date)
             AND ($2::uuid IS NULL OR (id, organization_id) > ($2::uuid, $3::uuid))
           ORDER BY ended_reservation.id, ended_reservation.organization_id LIMIT $4) page`;
const READ_CLOSINGS = `
  SELECT organization_id, reservation_count::text AS reservations, charge_count::text AS charges,
         charged_micro::text AS charged, uncollected_micro::text AS uncollected, checksum::text AS checksum
    FROM ledger_closing WHERE day = $1`;
const COMPLETE = `
  SELECT ledger_archive_complete($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS is_complete`;
/** A day whose rows are not archived, in a partition that is attached or detached. */
const findKeptDay = (partition: string): string => `
  SELECT d.day
    FROM generate_series((SELECT day_of_id(id)::timestamp FROM ${partition} ORDER BY id LIMIT 1),
                         (SELECT day_of_id(id)::timestamp FROM ${partition} ORDER BY id DESC LIMIT 1), interval '1 day') d (day)
   WHERE NOT EXISTS (SELECT FROM ledger_archive a WHERE a.day = d.day::date AND a.exported_at IS NOT NULL)
     AND EXISTS (SELECT FROM ${partition} r WHERE r.id BETWEEN first_id_of(d.day::date) AND last_id_of(d.day::date))
   LIMIT 1`;
const NOTE_REMOVED = `
  UPDATE ledger_archive a SET removed_at = clock_timestamp()
   WHERE a.exported_at IS NOT NULL AND a.removed_at IS NULL
     AND NOT EXISTS (SELECT FROM ended_reservation r WHERE r.id BETWEEN first_id_of(a.day) AND last_id_of(a.day))`;

/** Repository of archived days. Days are UTC dates, `YYYY-MM-DD`. */
@Injectable()
export class LedgerArchiveRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The object key of a day. */
  async objectKeyOf(day: string): Promise<string> {
    return toArchiveKey(await readDeploymentId(this.dataSource), day);
  }

  /**
   * The next closed day to export, older than `retentionDays`; `null`: there is none, or an older day is still open.
   */
  async findDue(retentionDays: number): Promise<string | null> {
    const [row] = await this.dataSource.query<{ day: string }[]>(FIND_DUE, [retentionDays]);
    return row?.day ?? null;
  }

  /** Claims the export of a day for `owner`; `false`: another process has it. */
  async claim(day: string, owner: string): Promise<boolean> {
    const rows = await this.dataSource.query<unknown[]>(CLAIM, [day, owner]);
    return rows.length === 1;
  }

  /** @throws Error when the claim was given back or another process has taken it over */
  async renew(day: string, owner: string): Promise<void> {
    const [rows] = await this.dataSource.query<[unknown[], number]>(RENEW, [day, owner]);
    if (rows.length === 0) throw new Error(`Another process is exporting ${day}.`);
  }

  async giveBack(day: string, owner: string): Promise<void> {
    await this.dataSource.query(GIVE_BACK, [day, owner]);
  }

  /** The ended reservations of a day, ordered by id, as lines of JSON in pages of `pageSize` rows. */
  async *readLines(day: string, pageSize: number): AsyncGenerator<Lines, void> {
    let after: readonly [id: string | null, organization: string | null] = [null, null];
    for (;;) {
      const [page] = await this.dataSource.query<PageRow[]>(READ_PAGE, [day, ...after, pageSize]);
      if (page?.lines == null) return;
      yield { text: `${page.lines}\n`, count: page.count };
      after = [page.last_id, page.last_organization];
    }
  }

  /** The sums of a closed day by organization. */
  async readClosings(day: string): Promise<Map<string, DaySums>> {
    const rows = await this.dataSource.query<ClosingRow[]>(READ_CLOSINGS, [day]);
    return new Map(rows.map((row) => [row.organization_id, toSums(row)]));
  }

  /** `null`: the day is not archived. */
  async readRecord(day: string): Promise<ArchiveRecord | null> {
    const [row] = await this.dataSource.query<{ object_key: string; content_digest: Buffer }[]>(
      'SELECT object_key, content_digest FROM ledger_archive WHERE day = $1 AND exported_at IS NOT NULL',
      [day],
    );
    return row === undefined ? null : { objectKey: row.object_key, contentDigest: row.content_digest };
  }

  /**
   * Records a verified export; from then on, the rows may be removed.
   * @throws Error when another process has taken over the claim; PostgreSQL's `check_violation`
   */
  async complete(day: string, owner: string, { key, sizeBytes }: StoredObject, content: ArchivedDay): Promise<void> {
    const total = totalOf(content.sums.values());
    const [row] = await this.dataSource.query<{ is_complete: boolean }[]>(COMPLETE, [
      day,
      owner,
      key,
      sizeBytes,
      content.contentDigest,
      ...[total.reservationCount, total.chargeCount, total.chargedMicro, total.uncollectedMicro, total.checksum].map(
        String,
      ),
      content.lastEntryId,
    ]);
    if (row?.is_complete !== true) throw new Error(`Another process is exporting ${day}.`);
  }

  /** The first day whose requests are still in the database; `null`: nothing is archived. */
  async keptFrom(): Promise<string | null> {
    const [row] = await this.dataSource.query<{ day: string | null }[]>('SELECT ledger_kept_from()::text AS day');
    return row?.day ?? null;
  }

  /** Whether all rows of a partition are archived; `false` also when another process has removed it. */
  async isArchived(partition: string): Promise<boolean> {
    try {
      return (await this.dataSource.query<unknown[]>(findKeptDay(partition))).length === 0;
    } catch (error) {
      if (hasSqlState(error, UNDEFINED_TABLE)) return false;
      throw error;
    }
  }

  /** Records which archived days no longer have rows. */
  async noteRemoved(): Promise<void> {
    await this.dataSource.query(NOTE_REMOVED);
  }
}

interface PageRow {
  readonly lines: string | null;
  readonly count: number;
  readonly last_id: string;
  readonly last_organization: string;
}

interface ClosingRow {
  readonly organization_id: string;
  readonly reservations: string;
  readonly charges: string;
  readonly charged: string;
  readonly uncollected: string;
  readonly checksum: string;
}

function toSums({ reservations, charges, charged, uncollected, checksum }: ClosingRow): DaySums {
  return {
    reservationCount: BigInt(reservations),
    chargeCount: BigInt(charges),
    chargedMicro: BigInt(charged),
    uncollectedMicro: BigInt(uncollected),
    checksum: BigInt(checksum),
  };
}
