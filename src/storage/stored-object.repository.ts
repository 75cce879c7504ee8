import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type ObjectOwner, toKeyPrefix } from './object-key';

/** Time for one process to delete what it has claimed; after that anybody may try again. */
const CLAIM_MINUTES = 10;

export interface NewStoredObject extends ObjectOwner {
  readonly key: string;
  /** `null` while it is not known. */
  readonly sizeBytes: number | null;
  readonly retentionHours: number;
}

/**
 * The table of what is stored. A row is there before its object and goes after it, so that every object has a row that
 * remembers to delete it. All times are the database's: the clocks of the processes do not matter.
 */
@Injectable()
export class StoredObjectRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Announces an object; the same key again renews its time. Returns `false` where that time is over. */
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

  /** Of an object that is there now. Returns `false` where its time is over, or its row gone. */
  async recordSize(key: string, sizeBytes: number): Promise<boolean> {
    const [rows] = await this.dataSource.query<[{ key: string }[], number]>(
      'UPDATE stored_object SET size_bytes = $2 WHERE key = $1 AND delete_at > clock_timestamp() RETURNING key',
      [key, sizeBytes],
    );
    return rows.length === 1;
  }

  /**
   * Keys whose time is over, the longest waiting first, for this caller alone. Rows that another one is claiming are
   * passed over, so that sweepers do not wait for each other.
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

  /** Ends the time of all that an owner has, and claims it: a range of the primary key, as the prefix ends with a slash. */
  async claimOf(owner: ObjectOwner): Promise<string[]> {
    const prefix = toKeyPrefix(owner);
    const rows = await this.dataSource.query<{ key: string }[]>(
      `WITH claimed AS (
         UPDATE stored_object
            SET delete_at = least(delete_at, clock_timestamp()),
                sweep_after = clock_timestamp() + make_interval(mins => $3)
          WHERE key >= $1 AND key < $2 RETURNING key)
       SELECT key FROM claimed`,
      [prefix, `${prefix.slice(0, -1)}0`, CLAIM_MINUTES],
    );
    return rows.map(({ key }) => key);
  }

  /** Removes the rows of objects that are gone. */
  async forget(keys: readonly string[]): Promise<void> {
    await this.dataSource.query('DELETE FROM stored_object WHERE key = ANY($1)', [keys]);
  }
}
