import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A process as its lease shows it. */
export interface RunningInstance {
  readonly id: string;
  /** Version of the service; `null`: not recorded. */
  readonly version: string | null;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** Whole milliseconds since the last heartbeat, by the database's clock. */
  readonly heartbeatAgeMs: number;
}

/** An older lease counts as expired, as in the sweep of holds. */
export const LEASE_LIFETIME_MS = 20_000;

/** Lists the running processes. */
@Injectable()
export class InstanceDirectoryService {
  constructor(private readonly dataSource: DataSource) {}

  /** Most recently started first. Ages use the database's clock, as the heartbeats do. */
  async list(): Promise<RunningInstance[]> {
    const rows = await this.dataSource.query<(Omit<RunningInstance, 'heartbeatAgeMs'> & { readonly age: string })[]>(
      `SELECT id, version, started_at AS "startedAt", heartbeat_at AS "heartbeatAt",
              greatest(0, extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000)::bigint::text AS age
         FROM gateway_instance ORDER BY started_at DESC, id`,
    );
    return rows.map(({ age, ...row }) => ({ ...row, heartbeatAgeMs: Number(age) }));
  }
}
