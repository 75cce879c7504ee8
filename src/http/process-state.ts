import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { LedgerAuditService } from '../billing/ledger/ledger-audit.service';
import { ReservationService } from '../billing/ledger/reservation.service';
import { MONEY_POOL } from '../core/database/money-pool';
import { ReadDatabase } from '../core/database/read-database';
import { Metrics } from '../core/observability/metrics/catalogue';
import { CLOCK, type Clock } from '../core/time/clock';
import { deploymentLabel } from '../inference/request-metrics';
import { ModelCatalogService } from '../models/model-catalog.service';
import { HealthService } from '../models/routing/health.service';
import { DrainService } from './availability';
import { ReadinessService } from './readiness.service';

/** The value of `deployment_state`. */
const BREAKER = { closed: 0, coolingDown: 1, open: 2 };

type Connections = Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>;

/** Sets the gauges that describe the state of this process, when the metrics are read. */
@Injectable()
export class ProcessState implements OnModuleInit, OnModuleDestroy {
  private endSource: () => void = () => undefined;

  constructor(
    private readonly metrics: Metrics,
    private readonly drain: DrainService,
    private readonly readiness: ReadinessService,
    private readonly reservations: ReservationService,
    private readonly audit: LedgerAuditService,
    private readonly catalog: ModelCatalogService,
    private readonly health: HealthService,
    private readonly dataSource: DataSource,
    @Inject(MONEY_POOL) private readonly moneyPool: Pool,
    private readonly reads: ReadDatabase,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.endSource = this.metrics.addSource(() => this.observe());
  }

  onModuleDestroy(): void {
    this.endSource();
  }

  private async observe(): Promise<void> {
    this.observeRequests();
    this.observeRoutes();
    this.observeMoney();
    this.observeConnections();
    // Sets `dependency_up`; the result is cached.
    await this.readiness.check();
  }

  private observeRequests(): void {
    const { metrics, drain } = this;
    metrics.requestsInFlight.of('api').set(drain.inFlight - drain.inFlightOfDashboard);
    metrics.requestsInFlight.of('dashboard').set(drain.inFlightOfDashboard);
    metrics.draining.of().set(drain.stopping ? 1 : 0);
  }

  /** Rebuilds the series, because models and deployments come and go. */
  private observeRoutes(): void {
    const { metrics, health } = this;
    const nowMs = this.clock.monotonic();
    metrics.deploymentState.clear();
    metrics.modelRoutable.clear();
    for (const { id, deployments } of this.catalog.list()) {
      let isRoutable = false;
      for (const deployment of deployments) {
        const known = health.healthOf(deployment.id);
        isRoutable ||= known.waitMs(nowMs) <= 0;
        const state = known.isOpen ? BREAKER.open : known.isCoolingDown(nowMs) ? BREAKER.coolingDown : BREAKER.closed;
        metrics.deploymentState.of(deploymentLabel(deployment)).set(state);
      }
      metrics.modelRoutable.of(id).set(isRoutable ? 1 : 0);
    }
    for (const [provider, calls] of health.inFlightByProvider()) metrics.upstreamInFlight.of(provider).set(calls);
  }

  private observeMoney(): void {
    const { metrics } = this;
    let isolated = 0;
    for (const { queue, size, oldestMs, isolatedAccounts } of this.reservations.describeQueues()) {
      metrics.moneyQueueSize.of(queue).set(size);
      metrics.moneyQueueOldest.of(queue).set(oldestMs / 1_000);
      isolated += isolatedAccounts;
    }
    metrics.moneyAccountsIsolated.of().set(isolated);
    const audit = this.audit.lastCompleted;
    if (audit === null) return;
    metrics.ledgerViolations.of().set(audit.violationCount);
    metrics.ledgerAuditTimestamp.of().set(audit.completedAt.getTime() / 1_000);
    metrics.ledgerAuditDuration.of().set(audit.durationMs / 1_000);
  }

  private observeConnections(): void {
    // TypeORM does not declare the type of its driver's pool.
    const general = (this.dataSource.driver as { readonly master?: Connections }).master;
    if (general !== undefined) this.observePool('general', general);
    this.observePool('money', this.moneyPool);
    if (this.reads.connections !== null) this.observePool('read', this.reads.connections);
  }

  private observePool(pool: 'general' | 'money' | 'read', { totalCount, idleCount, waitingCount }: Connections): void {
    const { databaseConnections } = this.metrics;
    databaseConnections.of(pool, 'idle').set(idleCount);
    databaseConnections.of(pool, 'busy').set(totalCount - idleCount);
    databaseConnections.of(pool, 'waiting').set(waitingCount);
  }
}
