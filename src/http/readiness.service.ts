import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { LedgerAuditService } from '../billing/ledger-audit.service';
import { hasPendingMigrations } from '../database/run-migrations';
import { REDIS } from '../redis/redis.module';
import { CLOCK, type Clock } from '../common/clock';
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
/** How long a result is passed on, however many ask. What is missing may come back any moment, and is waited for. */
const GOOD_FOR_MS = { ready: 1_000, not_ready: 100 };

type Checks = ReadinessReport['checks'];

interface CheckRun {
  readonly checks: Promise<Checks>;
  /** Monotonic; `null` while the checks are under way. */
  goodUntilMs: number | null;
}

/**
 * Whether this process can serve (decision *probes*). A broken ledger invariant is reported and raises an alarm, but
 * does not take the service away: stopping every replica at once would not mend a single row.
 */
@Injectable()
export class ReadinessService {
  private migrated = false;
  private lastRun: CheckRun | null = null;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) private readonly redis: Redis,
    private readonly audit: LedgerAuditService,
    private readonly drain: DrainService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** A stop shows at once; what the servers say is asked once for all who ask within a second. */
  async check(): Promise<ReadinessReport> {
    const checks = await this.currentRun().checks;
    return { status: isServing(checks) && !this.drain.draining ? 'ready' : 'not_ready', checks };
  }

  private currentRun(): CheckRun {
    const { lastRun } = this;
    const isCurrent =
      lastRun !== null && (lastRun.goodUntilMs === null || this.clock.monotonic() < lastRun.goodUntilMs);
    if (isCurrent) return lastRun;
    const run: CheckRun = { checks: this.askServers(), goodUntilMs: null };
    void run.checks.then((checks) => {
      run.goodUntilMs = this.clock.monotonic() + GOOD_FOR_MS[isServing(checks) ? 'ready' : 'not_ready'];
    });
    this.lastRun = run;
    return run;
  }

  private async askServers(): Promise<Checks> {
    const [postgres, redis, migrations] = await Promise.all([
      succeeds(this.dataSource.query('SELECT 1')),
      succeeds(this.redis.ping()),
      succeeds(this.requireMigrations()),
    ]);
    return { postgres, redis, migrations, ledger: this.audit.state };
  }

  /** Asked until the answer is yes: a schema does not become older. */
  private async requireMigrations(): Promise<void> {
    if (this.migrated) return;
    if (await hasPendingMigrations(this.dataSource)) throw new Error('migrations are pending');
    this.migrated = true;
  }
}

function isServing({ postgres, redis, migrations }: Checks): boolean {
  return postgres === 'ok' && redis === 'ok' && migrations === 'ok';
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
