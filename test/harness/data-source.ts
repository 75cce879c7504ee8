import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/core/database/data-source';
import { PATIENCE_MS, patientDatabase } from './database';
import { pooledUrlOf } from './servers';

/** A connected data source without timeouts for its database, through the pooler of this run if there is one. */
export function openDataSource(url: string, poolSize: number): Promise<DataSource> {
  const pooledUrl = pooledUrlOf(url);
  // A pooler refuses the limits of `patientDatabase`, and passes on none.
  const target =
    pooledUrl === null
      ? { url: patientDatabase(url) }
      : { url: pooledUrl, isPooled: true, statementTimeoutMs: PATIENCE_MS };
  return createDataSource({ ...target, poolSize, connectTimeoutMs: PATIENCE_MS }).initialize();
}
