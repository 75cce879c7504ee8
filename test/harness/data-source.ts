import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/database/data-source';
import { PATIENCE_MS, patientDatabase } from './database';

/** A connected data source that waits for its database as long as it takes. */
export function openDataSource(url: string, poolSize: number): Promise<DataSource> {
  return createDataSource({ url: patientDatabase(url), poolSize, connectTimeoutMs: PATIENCE_MS }).initialize();
}
