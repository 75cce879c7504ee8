import { Injectable } from '@nestjs/common';
import { toRequestId } from '../../core/types/ids';
import { CandidateSelector } from '../../inference/route-planner';
import type { Candidate } from '../../inference/inference.types';
import { ModelCatalogService } from '../../models/model-catalog.service';
import type { JobAdapter } from '../../providers/contract/media-job';
import type { RequestMapping } from '../../providers/contract/request-mapping';
import type { CallDeadlines, ModelFeatures, ProviderCall, Quirks } from '../../providers/contract/provider-call';
import { ProvidersService } from '../../providers/providers.service';
import { HealthService } from '../../models/routing/health.service';
import type { DeploymentCall } from '../../models/routing/deployment-health';
import { jobCostMicro } from '../job-hold';
import type { MediaJob } from '../media-job.types';

/** The adapter for calls about a job, with the model's settings. */
export interface JobTarget {
  readonly adapter: JobAdapter;
  readonly upstreamModel: string;
  readonly features: ModelFeatures;
  readonly quirks: Quirks;
  readonly mapping?: RequestMapping;
}

/** A deployment selected for a submission, with its open call. */
export interface SelectedDeployment extends JobTarget {
  readonly candidate: Candidate;
  readonly deploymentCall: DeploymentCall;
}

const NO_FEATURES: ModelFeatures = {};

/** The columns that a call about a job needs. */
type CalledJob = Pick<MediaJob, 'id' | 'kind' | 'model' | 'provider' | 'deploymentId' | 'submissions' | 'handle'>;

/** Selects from the deployments in a job's route. */
@Injectable()
export class JobTargets {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly selector: CandidateSelector,
    private readonly providers: ProvidersService,
    private readonly health: HealthService,
  ) {}

  /**
   * The next available deployment of the route after the last one used, wrapping around. Its call has already begun.
   * `null`: no deployment is available now.
   */
  async choose(job: MediaJob): Promise<SelectedDeployment | null> {
    for (const candidate of this.afterLastUsed(job)) {
      const target = isPriced(candidate, job) ? toTarget(candidate, job) : null;
      if (target === null) continue;
      const deploymentCall = await this.health.beginCall(candidate.health, candidate.load);
      if (deploymentCall !== null) return { ...target, candidate, deploymentCall };
    }
    return null;
  }

  /**
   * Whether every deployment of the route was tried: its last one was used, or there were as many submissions as the
   * route has deployments, since some may no longer be offered.
   */
  isLast({ route, deploymentId, submissions }: MediaJob): boolean {
    return route.at(-1) === deploymentId || submissions % route.length === 0;
  }

  /**
   * The target of a submitted job, even if its deployment is no longer offered. `null`: its provider is not configured
   * in this process.
   */
  find(job: CalledJob): JobTarget | null {
    const [candidate] = this.candidatesOf(job.deploymentId === null ? [] : [job.deploymentId]);
    if (candidate !== undefined) return toTarget(candidate, job);
    const provider = job.provider === null ? undefined : this.providers.get(job.provider);
    const adapter = provider?.[job.kind];
    if (provider === undefined || adapter === undefined || job.handle === null) return null;
    return { adapter, upstreamModel: job.handle.upstreamModel, features: NO_FEATURES, quirks: provider.quirks };
  }

  private afterLastUsed({ route, deploymentId }: MediaJob): readonly Candidate[] {
    const next = deploymentId === null ? 0 : route.indexOf(deploymentId) + 1;
    return this.candidatesOf([...route.slice(next), ...route.slice(0, next)]);
  }

  /** In the order of `deploymentIds`. A deployment may belong to a fallback model. */
  private candidatesOf(deploymentIds: readonly string[]): Candidate[] {
    const found = new Map<string, Candidate>();
    for (const model of this.catalog.list()) {
      if (!model.deployments.some(({ id }) => deploymentIds.includes(id))) continue;
      for (const candidate of this.selector.select(model)) found.set(candidate.deployment.id, candidate);
    }
    return deploymentIds.flatMap((id) => found.get(id) ?? []);
  }
}

/** A provider call about a job. `attempt` is the number of submissions. */
export function toCall(job: CalledJob, target: JobTarget, deadlines: CallDeadlines, signal: AbortSignal): ProviderCall {
  return {
    requestId: toRequestId(job.id),
    attempt: Math.max(1, job.submissions),
    publicModel: job.model,
    upstreamModel: target.upstreamModel,
    features: target.features,
    quirks: target.quirks,
    mapping: target.mapping,
    deadlines,
    keyId: job.handle?.keyId,
    signal,
  };
}

/** Deadlines of a call that may take `totalMs` overall. */
export function deadlinesOf(totalMs: number, connectTimeoutMs: number): CallDeadlines {
  return { connectMs: Math.min(connectTimeoutMs, totalMs), firstTokenMs: totalMs, idleMs: totalMs, totalMs };
}

function toTarget({ provider, deployment, features, quirks }: Candidate, { kind }: CalledJob): JobTarget | null {
  const adapter = provider[kind];
  if (adapter === undefined) return null;
  const { upstreamModel, mapping } = deployment;
  return { adapter, upstreamModel, features, quirks, mapping };
}

/** Prices may have changed since the submission; a job without a price is not submitted. */
function isPriced({ price }: Candidate, { settings }: MediaJob): boolean {
  return jobCostMicro(price, settings, settings.durationSeconds) !== null;
}
