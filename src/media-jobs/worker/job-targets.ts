import { Injectable } from '@nestjs/common';
import { toRequestId } from '../../common/ids';
import { CandidateSelector } from '../../inference/candidate-selector';
import type { Candidate } from '../../inference/inference.types';
import { ModelCatalogService } from '../../models/model-catalog.service';
import type { JobAdapter } from '../../providers/contract/media-job';
import type { CallDeadlines, ModelFeatures, ProviderCall, Quirks } from '../../providers/contract/provider-call';
import { ProvidersService } from '../../providers/providers.service';
import { HealthService } from '../../routing/health.service';
import type { Flight } from '../../routing/flight';
import { jobCostMicro } from '../job-hold';
import type { MediaJob } from '../media-job.types';

/** Whom to speak to about a job, and how. */
export interface JobTarget {
  readonly adapter: JobAdapter;
  readonly upstreamModel: string;
  readonly features: ModelFeatures;
  readonly quirks: Quirks;
}

/** A deployment that may be asked to make a job, and the call that does so. */
export interface JobChance extends JobTarget {
  readonly candidate: Candidate;
  readonly flight: Flight;
}

const NO_FEATURES: ModelFeatures = {};

/** Finds those who make jobs, among the deployments that the submission has named. */
@Injectable()
export class JobTargets {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly selector: CandidateSelector,
    private readonly providers: ProvidersService,
    private readonly health: HealthService,
  ) {}

  /**
   * The first of the job's deployments that can be asked now, those first that come behind the one that was asked last.
   * Its flight has begun. `null`: nobody can, at the moment.
   */
  async choose(job: MediaJob): Promise<JobChance | null> {
    for (const candidate of this.inTurn(job)) {
      const target = isPriced(candidate, job) ? toTarget(candidate, job) : null;
      if (target === null) continue;
      const flight = await this.health.begin(candidate.health, candidate.load);
      if (flight !== null) return { ...target, candidate, flight };
    }
    return null;
  }

  /**
   * Whether everybody has been asked once more: the last of the route, or as many as it has, since those behind the one
   * that was asked may not be offered any more.
   */
  isLast({ route, deploymentId, submissions }: MediaJob): boolean {
    return route.at(-1) === deploymentId || submissions % route.length === 0;
  }

  /**
   * Where the job is, even if its deployment is not offered any more. `null`: this process knows nothing of its provider.
   */
  find(job: MediaJob): JobTarget | null {
    const [candidate] = this.candidatesOf(job.deploymentId === null ? [] : [job.deploymentId]);
    if (candidate !== undefined) return toTarget(candidate, job);
    const provider = job.provider === null ? undefined : this.providers.get(job.provider);
    const adapter = provider?.[job.kind];
    if (provider === undefined || adapter === undefined || job.handle === null) return null;
    return { adapter, upstreamModel: job.handle.upstreamModel, features: NO_FEATURES, quirks: provider.quirks };
  }

  private inTurn({ route, deploymentId }: MediaJob): readonly Candidate[] {
    const next = deploymentId === null ? 0 : route.indexOf(deploymentId) + 1;
    return this.candidatesOf([...route.slice(next), ...route.slice(0, next)]);
  }

  /** In the order of their ids. A deployment may be one of a model that stands in for the job's. */
  private candidatesOf(deploymentIds: readonly string[]): Candidate[] {
    const found = new Map<string, Candidate>();
    for (const model of this.catalog.list()) {
      if (!model.deployments.some(({ id }) => deploymentIds.includes(id))) continue;
      for (const candidate of this.selector.select(model)) found.set(candidate.deployment.id, candidate);
    }
    return deploymentIds.flatMap((id) => found.get(id) ?? []);
  }
}

/** One call about a job. `attempt` counts the submissions. */
export function toCall(job: MediaJob, target: JobTarget, deadlines: CallDeadlines, signal: AbortSignal): ProviderCall {
  return {
    requestId: toRequestId(job.id),
    attempt: Math.max(1, job.submissions),
    publicModel: job.model,
    upstreamModel: target.upstreamModel,
    features: target.features,
    quirks: target.quirks,
    deadlines,
    signal,
  };
}

/** A call that may take so long, all in all. */
export function deadlinesOf(totalMs: number, connectTimeoutMs: number): CallDeadlines {
  return { connectMs: Math.min(connectTimeoutMs, totalMs), firstTokenMs: totalMs, idleMs: totalMs, totalMs };
}

function toTarget({ provider, deployment, features, quirks }: Candidate, { kind }: MediaJob): JobTarget | null {
  const adapter = provider[kind];
  return adapter === undefined ? null : { adapter, upstreamModel: deployment.upstreamModel, features, quirks };
}

/** Prices may have changed since the submission: what has none must not be sold (decision *unpriced*). */
function isPriced({ price }: Candidate, { settings }: MediaJob): boolean {
  return jobCostMicro(price, settings, settings.durationSeconds) !== null;
}
