import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { LedgerAuditService } from '../billing/ledger-audit.service';
import { hasPendingMigrations } from '../database/run-migrations';
import { REDIS } from '../redis/redis.module';
import { DrainService } from './drain.service';

export type CheckResult = 'ok' | 'failed' | 'unknown';

export interface ReadinessReport {
  readonly status: 'ready' | 'not_ready';
  readonly checks: {
    readonly postgres: CheckResult;
    readonly redis: CheckResult;
    readonly migrations: CheckResult;
    readonly ledger: CheckResult;
  };
}

const CHECK_TIMEOUT_MS = 1_000;

/**
 * Whether this process can serve (decision *probes*). A broken ledger invariant is reported and raises an alarm, but
 * does not take the service away: stopping every replica at once would not mend a single row.
 */
@Injectable()
export class ReadinessService {
  private migrated = false;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) private readonly redis: Redis,
    private readonly audit: LedgerAuditService,
    private readonly drain: DrainService,
  ) {}

  async check(): Promise<ReadinessReport> {
    const [postgres, redis, migrations] = await Promise.all([
      succeeds(this.dataSource.query('SELECT 1')),
      succeeds(this.redis.ping()),
      succeeds(this.requireMigrations()),
    ]);
    const checks = { postgres, redis, migrations, ledger: this.audit.state };
    const serving = !this.drain.draining && postgres === 'ok' && redis === 'ok' && migrations === 'ok';
    return { status: serving ? 'ready' : 'not_ready', checks };
  }

  /** Asked until the answer is yes: a schema does not become older. */
  private async requireMigrations(): Promise<void> {
    if (this.migrated) return;
    if (await hasPendingMigrations(this.dataSource)) throw new Error('migrations are pending');
    this.migrated = true;
  }
}

async function succeeds(work: Promise<unknown>): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([work, timeout]);
    return 'ok';
  } catch {
    return 'failed';
  } finally {
    clearTimeout(timer);
  }
}
