import type { DataSource } from 'typeorm';
import { Baseline1797700000000 } from '../../../migrations/1797700000000-baseline';

/**
 * Creates the tables of the first release in an empty database, without functions and views.
 * @param newest the migration that it has last, by name
 */
export async function createBaselineTables(dataSource: DataSource, newest = 'Baseline1797700000000'): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(
      'CREATE TABLE migrations (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name text NOT NULL)',
    );
    await new Baseline1797700000000().up(runner);
    await runner.query('INSERT INTO migrations ("timestamp", name) VALUES ($1, $2)', [newest.slice(-13), newest]);
  } finally {
    await runner.release();
  }
}
