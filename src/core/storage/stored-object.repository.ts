import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ObjectOwner, toKeyPrefix } from './object-key';

/** Duration of a deletion claim; then another sweeper may retry. */
const CLAIM_MINUTES = 10;

export interface NewStoredObject extends ObjectOwner {
  readonly key: string;
  /** `null` while unknown. */
  readonly sizeBytes: number | null;
  readonly retentionHours: number;
}

/**
 * The table of stored objects. A row is created before its object and deleted after it, so that no object is orphaned.
 * All times come from the database clock.
 */
@Injectable()
export class StoredObjectRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Announces an object; announcing the same key again renews its retention. Returns `false` when it has expired. */
  async announce({ key, organizationId, kind, sizeBytes, retentionHours }: NewStoredObject): Promise<boolean> {
    const rows = await this.dataSource.query<{ key: string }[]>(
      `INSERT INTO stored_object (key, organization_id, kind, size_bytes, delete_at, sweep_after)
       SELECT $1, $2, $3, $4, due.at, due.at FROM (SELECT clock_timestamp() + make_interval(hours => $5) AS at) due
       ON CONFLICT (key) DO UPDATE
         SET size_bytes = excluded.size_bytes, delete_at = excluded.delete_at, sweep_after = excluded.sweep_after
         WHERE stored_object.delete_at > clock_timestamp()
       RETURNING key`,
      [key, organizationId, kind, sizeBytes, retentionHours],
    );
    return rows.length === 1;
  }

  /** Records the size of a stored object. Returns `false` when it has expired or its row is gone. */
  async recordSize(key: string, sizeBytes: number): Promise<boolean> {
    const [rows] = await this.dataSource.query<[{ key: string }[], number]>(
      'UPDATE stored_object SET size_bytes = $2 WHERE key = $1 AND delete_at > clock_timestamp() RETURNING key',
      [key, sizeBytes],
    );
    return rows.length === 1;
  }

  /**
   * Claims expired keys, oldest first. Skips rows locked by other sweepers, so that sweepers do not wait for each
   * other.
   */
  async claimDue(limit: number): Promise<string[]> {
    const rows = await this.dataSource.query<{ key: string }[]>(
      `WITH due AS (
         SELECT key FROM stored_object WHERE sweep_after <= clock_timestamp()
          ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED),
       claimed AS (
         UPDATE stored_object SET sweep_after = clock_timestamp() + make_interval(mins => $2)
          WHERE key IN (SELECT key FROM due) RETURNING key)
       SELECT key FROM claimed`,
      [limit, CLAIM_MINUTES],
    );
    return rows.map(({ key }) => key);
  }

  /** Total size of the objects of an owner. */
  async storedBytes(owner: ObjectOwner): Promise<number> {
    const [row] = await this.dataSource.query<{ bytes: number }[]>(
      'SELECT coalesce(sum(size_bytes), 0)::float8 AS bytes FROM stored_object WHERE key >= $1 AND key < $2',
      keyRangeOf(owner),
    );
    return row?.bytes ?? 0;
  }

  /** Expires and claims all objects of an owner. */
  async claimOf(owner: ObjectOwner): Promise<string[]> {
    const rows = await this.dataSource.query<{ key: string }[]>(
      `WITH claimed AS (
         UPDATE stored_object
            SET delete_at = least(delete_at, clock_timestamp()),
                sweep_after = clock_timestamp() + make_interval(mins => $3)
          WHERE key >= $1 AND key < $2 RETURNING key)
       SELECT key FROM claimed`,
      [...keyRangeOf(owner), CLAIM_MINUTES],
    );
    return rows.map(({ key }) => key);
  }

  /** Removes the rows of deleted objects. */
  async forget(keys: readonly string[]): Promise<void> {
    await this.dataSource.query('DELETE FROM stored_object WHERE key = ANY($1)', [keys]);
  }
}

/** A range of the primary key: the prefix ends with a slash, which precedes `0`. */
function keyRangeOf(owner: ObjectOwner): [first: string, end: string] {
  const prefix = toKeyPrefix(owner);
  return [prefix, `${prefix.slice(0, -1)}0`];
}
