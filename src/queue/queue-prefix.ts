import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';

/** Identifies a database among all that there are, copies of its server's data aside. */
const IDENTIFY = `
  SELECT system_identifier || '/' || d.oid AS name
    FROM pg_control_system(), pg_database d WHERE d.datname = current_database()`;

/**
 * What the keys of a deployment begin with. A deployment is a database: those that share a Redis by chance would otherwise
 * take each other's wake-ups. In braces, so that a cluster keeps the keys of a queue together.
 */
export async function readQueuePrefix(dataSource: Pick<DataSource, 'query'>): Promise<string> {
  const [row] = await dataSource.query<{ name: string }[]>(IDENTIFY);
  const digest = createHash('sha256')
    .update(row?.name ?? '')
    .digest('hex');
  return `{gateway:${digest.slice(0, 12)}}`;
}
