import { Client } from 'pg';
import { round } from '#bench/statistics';

/** What the requests of a run left in PostgreSQL, bytes per request. */
export interface DatabaseGrowth {
  /** Write-ahead log, with the full pages after each checkpoint. */
  readonly walBytesPerRequest: number;
  /** Tables with their indexes, largest first; those that grew by less than a byte per request are left out. */
  readonly diskBytesPerRequest: Readonly<Record<string, number>>;
}

export interface DatabaseSize {
  readonly walBytes: number;
  readonly bytesByTable: ReadonlyMap<string, number>;
}

const SIZES = `
  SELECT c.relname AS name, pg_total_relation_size(COALESCE(i.inhrelid, c.oid))::float8 AS bytes
    FROM pg_class c
    LEFT JOIN LATERAL (SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid) i ON true
   WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace`;

/** Partitions count for their table. */
export async function readDatabaseSize(databaseUrl: string): Promise<DatabaseSize> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const wal = await client.query<{ bytes: number }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
    );
    const sizes = await client.query<{ name: string; bytes: number }>(SIZES);
    const bytesByTable = new Map<string, number>();
    for (const { name, bytes } of sizes.rows) bytesByTable.set(name, (bytesByTable.get(name) ?? 0) + bytes);
    return { walBytes: wal.rows[0]?.bytes ?? 0, bytesByTable };
  } finally {
    await client.end();
  }
}

export function growthOf(before: DatabaseSize, after: DatabaseSize, requests: number): DatabaseGrowth {
  const perRequest = (bytes: number): number => round(bytes / Math.max(1, requests));
  const tables = [...after.bytesByTable]
    .map(([name, bytes]): [string, number] => [name, perRequest(bytes - (before.bytesByTable.get(name) ?? 0))])
    .filter(([, bytes]) => bytes >= 1)
    .toSorted(([, left], [, right]) => right - left);
  return {
    walBytesPerRequest: perRequest(after.walBytes - before.walBytes),
    diskBytesPerRequest: Object.fromEntries(tables),
  };
}
