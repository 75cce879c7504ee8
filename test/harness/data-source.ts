import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/core/database/data-source';
import { PATIENCE_MS, patientDatabase } from './database';

/** A connected data source without timeouts for its database. */
export function openDataSource(url: string, poolSize: number): Promise<DataSource> {
  return createDataSource({ url: patientDatabase(url), poolSize, connectTimeoutMs: PATIENCE_MS }).initialize();
}
