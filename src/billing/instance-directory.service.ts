import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A process as its lease shows it. */
export interface RunningInstance {
  readonly id: string;
  /** Of the service; `null`: one that did not say so. */
  readonly version: string | null;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** Whole milliseconds since the last heartbeat, by the database's clock. */
  readonly heartbeatAgeMs: number;
}

/** A lease that is older counts as orphaned, as for the sweep of holds. */
export const LEASE_LIFETIME_MS = 20_000;

/** Which processes run. */
@Injectable()
export class InstanceDirectoryService {
  constructor(private readonly dataSource: DataSource) {}

  /** The latest started first. Ages are of the database's clock, which made the heartbeats. */
  async list(): Promise<RunningInstance[]> {
    const rows = await this.dataSource.query<(Omit<RunningInstance, 'heartbeatAgeMs'> & { readonly age: string })[]>(
      `SELECT id, version, started_at AS "startedAt", heartbeat_at AS "heartbeatAt",
              greatest(0, extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000)::bigint::text AS age
         FROM gateway_instance ORDER BY started_at DESC, id`,
    );
    return rows.map(({ age, ...row }) => ({ ...row, heartbeatAgeMs: Number(age) }));
  }
}
