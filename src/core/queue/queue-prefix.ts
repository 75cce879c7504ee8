import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';

/** Identifies a database uniquely, except for copies of its server's data. */
const IDENTIFY = `
  SELECT system_identifier || '/' || d.oid AS name
    FROM pg_control_system(), pg_database d WHERE d.datname = current_database()`;

/**
 * The Redis key prefix of a deployment. A deployment is a database: without the prefix, deployments that share a Redis
 * would take each other's wake-ups. The braces keep the keys of a queue on one cluster node.
 */
export async function readQueuePrefix(dataSource: Pick<DataSource, 'query'>): Promise<string> {
  const [row] = await dataSource.query<{ name: string }[]>(IDENTIFY);
  const digest = createHash('sha256')
    .update(row?.name ?? '')
    .digest('hex');
  return `{gateway:${digest.slice(0, 12)}}`;
}
