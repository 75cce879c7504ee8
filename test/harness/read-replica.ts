import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/core/database/data-source';
import { ReadDatabase } from '../../src/core/database/read-database';
import { runMigrations } from '../../src/core/database/run-migrations';
import { PostgresProcess } from '../faults/postgres-process';
import { endChildren } from './child-process';
import { createTestPool } from './database';

/**
 * A primary with the schema, its streaming replica, and the reads of a process that looks at the replica every 20 ms.
 */
export class ReadReplica {
  private constructor(
    readonly primary: PostgresProcess,
    readonly standby: PostgresProcess,
    readonly dataSource: DataSource,
    /** Of the primary. */
    readonly writer: Pool,
    readonly reads: ReadDatabase,
  ) {}

  static async start(): Promise<ReadReplica> {
    const primary = await PostgresProcess.create();
    await runMigrations(primary.url);
    const standby = await primary.createStandby();
    const dataSource = await createDataSource({ url: primary.url, poolSize: 2 }).initialize();
    const reads = new ReadDatabase(dataSource, { url: standby.url, poolSize: 2, isPooled: false }, 20);
    const replica = new ReadReplica(primary, standby, dataSource, createTestPool(primary.url, 1), reads);
    await replica.renewLease('0 seconds');
    reads.onApplicationBootstrap();
    return replica;
  }

  /** As a gateway does every few seconds, so long ago. */
  async renewLease(age: string): Promise<void> {
    await this.writer.query(
      `INSERT INTO gateway_instance (id, heartbeat_at, steady_since) VALUES ('a', clock_timestamp() - $1::interval, now())
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      [age],
    );
  }

  async stop(): Promise<void> {
    await this.reads.beforeApplicationShutdown();
    await Promise.all([this.writer.end(), this.dataSource.destroy()]);
    await Promise.all([this.primary.remove(), this.standby.remove()]);
    await endChildren();
  }
}
