import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../core/redis/redis-client';
import { DataSource } from 'typeorm';
import { LimitConnection } from '../auth/rate-limits/limit-connection';
import { probeLimits } from '../auth/rate-limits/limit-probe';
import { LedgerAuditService, type LedgerState } from '../billing/ledger/ledger-audit.service';
import { within } from '../core/concurrency/within';
import { ReadDatabase, type ReadSource } from '../core/database/read-database';
import { hasPendingMigrations } from '../core/database/run-migrations';
import { Metrics } from '../core/observability/metrics/catalogue';
import { REDIS } from '../core/redis/redis.module';
import { CLOCK, type Clock } from '../core/time/clock';
import { DrainService } from './availability';

export type CheckResult = 'ok' | 'failed' | 'unknown';

export interface ReadinessReport {
  readonly status: 'ready' | 'not_ready';
  readonly checks: {
    readonly postgres: CheckResult;
    readonly redis: CheckResult;
    readonly migrations: CheckResult;
    readonly ledger: LedgerState;
  };
  /** Seconds since the last completed audit; `null` when none has completed. */
  readonly ledger_audit_age_seconds: number | null;
  /** The database that serves lists, exports and usage. */
  readonly reads_from: ReadSource;
}

/** Each probe uses a new key: a full Redis still runs a script that deletes before it writes. */
const PROBE_KEYS = 'gateway:ready:';
const CHECK_TIMEOUT_MS = 1_000;
/** How long a result is cached. Failures are cached more briefly, so that recovery shows soon. */
const CACHE_TTL_MS = { ready: 1_000, not_ready: 100 };

type Checks = ReadinessReport['checks'];

interface CheckRun {
  readonly checks: Promise<Checks>;
  /** Monotonic; `null` while the checks run. */
  cachedUntilMs: number | null;
}

/**
 * Whether this process can serve. A broken ledger invariant, or an audit that fails or is overdue,
 * is reported and raises an alarm, but does not make the process unready: stopping every replica would repair nothing.
 */
@Injectable()
export class ReadinessService {
  private migrated = false;
  private lastRun: CheckRun | null = null;
  private readonly limitScript: LimitConnection;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) redis: RedisClient,
    private readonly audit: LedgerAuditService,
    private readonly drain: DrainService,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly metrics: Metrics,
    private readonly reads: ReadDatabase,
  ) {
    this.limitScript = new LimitConnection(redis);
  }

  /** Draining shows immediately; dependency checks are shared by all probes within a second. */
  async check(): Promise<ReadinessReport> {
    const checks = await this.currentRun().checks;
    const { ageMs } = this.audit;
    return {
      status: isServing(checks) && !this.drain.stopping ? 'ready' : 'not_ready',
      checks,
      ledger_audit_age_seconds: ageMs && Math.floor(ageMs / 1_000),
      reads_from: this.reads.source,
    };
  }

  private currentRun(): CheckRun {
    const { lastRun } = this;
    const isCurrent =
      lastRun !== null && (lastRun.cachedUntilMs === null || this.clock.monotonic() < lastRun.cachedUntilMs);
    if (isCurrent) return lastRun;
    const run: CheckRun = { checks: this.checkServers(), cachedUntilMs: null };
    void run.checks.then((checks) => {
      run.cachedUntilMs = this.clock.monotonic() + CACHE_TTL_MS[isServing(checks) ? 'ready' : 'not_ready'];
    });
    this.lastRun = run;
    return run;
  }

  private async checkServers(): Promise<Checks> {
    const [postgres, redis, migrations] = await Promise.all([
      succeeds(this.dataSource.query('SELECT 1')),
      succeeds(probeLimits(this.limitScript, PROBE_KEYS + randomUUID())),
      succeeds(this.requireMigrations()),
    ]);
    this.metrics.dependencyUp.of('postgres').set(postgres === 'ok' ? 1 : 0);
    this.metrics.dependencyUp.of('redis').set(redis === 'ok' ? 1 : 0);
    if (this.reads.connections !== null) {
      this.metrics.dependencyUp.of('replica').set(this.reads.source === 'replica' ? 1 : 0);
    }
    return { postgres, redis, migrations, ledger: this.audit.state };
  }

  /** Whether the schema is up to date. Once it is, the answer no longer depends on the database. */
  async knowsSchema(): Promise<boolean> {
    if (!this.migrated) await this.currentRun().checks;
    return this.migrated;
  }

  /** Not checked again after the first success: a schema is never downgraded. */
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
  try {
    await within(CHECK_TIMEOUT_MS, work, 'timed out');
    return 'ok';
  } catch {
    return 'failed';
  }
}
