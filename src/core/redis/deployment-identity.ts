import type { DataSource } from 'typeorm';

type Database = Pick<DataSource, 'query'>;

/** The first 12 digits of a UUID suffice for the few deployments that share a Redis, and keep keys short. */
const DIGITS = 12;

/**
 * Identifies a deployment among those that share a Redis: the prefix of all its keys, channels and queues. Each
 * database is one deployment.
 */
export async function readDeploymentId(database: Database): Promise<string> {
  return idOf(await database.query<Row[]>('SELECT id FROM deployment_identity'));
}

/** Gives a restored copy of a database a new identity, which takes effect for processes that start later. */
export async function renewDeploymentId(database: Database): Promise<string> {
  const [rows] = await database.query<[Row[], number]>(
    'UPDATE deployment_identity SET id = gen_random_uuid(), renewed_at = clock_timestamp() RETURNING id',
  );
  return idOf(rows);
}

interface Row {
  readonly id: string;
}

function idOf([row]: readonly Row[]): string {
  if (row === undefined) throw new Error('The database has no row in deployment_identity');
  return row.id.replaceAll('-', '').slice(0, DIGITS);
}
