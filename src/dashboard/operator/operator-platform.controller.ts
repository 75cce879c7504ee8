import { Controller, Get, Inject } from '@nestjs/common';
import { InstanceDirectoryService, LEASE_LIFETIME_MS } from '../../billing/ledger/instance-lease.service';
import { LedgerAuditService } from '../../billing/ledger/ledger-audit.service';
import type { components } from '../../contract/dashboard';
import { TaskLeaseDirectory } from '../../core/scheduling/task-lease';
import { CLOCK, type Clock } from '../../core/time/clock';
import { JobSummaryRepository } from '../../media-jobs/job-summary.repository';
import { ProviderAdminService } from '../../models/routing/provider-admin.service';
import { Session } from '../../core/http/route.decorators';
import { toProviderRecord } from './health-record';

type Schemas = components['schemas'];

const DAY_MS = 86_400_000;

/** Health of the platform: providers, processes, periodic tasks, jobs and the ledger audit. */
@Controller('dashboard/api/operator')
export class OperatorPlatformController {
  constructor(
    private readonly providers: ProviderAdminService,
    private readonly instances: InstanceDirectoryService,
    private readonly audit: LedgerAuditService,
    private readonly jobs: JobSummaryRepository,
    private readonly leases: TaskLeaseDirectory,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get('providers')
  @Session('operator')
  async listProviderHealth(): Promise<Schemas['ProviderHealthList']> {
    return { object: 'list', data: (await this.providers.list()).map(toProviderRecord), next_cursor: null };
  }

  @Get('instances')
  @Session('operator')
  async listInstances(): Promise<Schemas['InstanceList']> {
    const instances = await this.instances.list();
    const data = instances.map(({ id, version, startedAt, heartbeatAt, heartbeatAgeMs }) => ({
      object: 'instance' as const,
      id,
      version,
      started_at: startedAt.toISOString(),
      heartbeat_at: heartbeatAt.toISOString(),
      heartbeat_age_ms: heartbeatAgeMs,
      alive: heartbeatAgeMs < LEASE_LIFETIME_MS,
    }));
    return { object: 'list', data, next_cursor: null };
  }

  @Get('task-leases')
  @Session('operator')
  async listTaskLeases(): Promise<Schemas['TaskLeaseList']> {
    const data = (await this.leases.list()).map(({ task, owner, held, until }) => ({
      object: 'task_lease' as const,
      task,
      owner,
      held,
      until: until?.toISOString() ?? null,
    }));
    return { object: 'list', data, next_cursor: null };
  }

  @Get('jobs/summary')
  @Session('operator')
  async getOperatorJobSummary(): Promise<Schemas['OperatorJobSummary']> {
    const { endedSince, counts, oldestWaiting } = await this.jobs.summarize(new Date(this.clock.now() - DAY_MS));
    return {
      object: 'operator.job_summary',
      ended_since: endedSince.toISOString(),
      data: counts.map(({ status, provider, jobs }) => ({ status, provider, jobs })),
      oldest_waiting: oldestWaiting && {
        id: oldestWaiting.id,
        organization_id: oldestWaiting.organizationId,
        model: oldestWaiting.model,
        created_at: oldestWaiting.createdAt.toISOString(),
      },
    };
  }

  @Get('ledger-audit')
  @Session('operator')
  async getLedgerAudit(): Promise<Schemas['LedgerAudit']> {
    const { lastCompleted, lastFailure, nextDueAt, oldestOpenDay } = await this.audit.refresh();
    return {
      object: 'ledger_audit',
      state: this.audit.state,
      completed_at: lastCompleted?.completedAt.toISOString() ?? null,
      age_seconds: lastCompleted && Math.max(0, Math.floor(lastCompleted.ageMs / 1_000)),
      duration_ms: lastCompleted?.durationMs ?? null,
      violation_count: lastCompleted?.violationCount ?? null,
      violations: lastCompleted?.violations.map(({ invariant, subject }) => ({ invariant, subject })) ?? [],
      failed_at: lastFailure?.failedAt.toISOString() ?? null,
      failure: lastFailure?.failure ?? null,
      next_due_at: nextDueAt.toISOString(),
      oldest_open_day: oldestOpenDay,
    };
  }
}
