import { Injectable } from '@nestjs/common';
import { GatewayError } from '../common/errors/gateway-error';
import { CandidateSelector } from '../inference/candidate-selector';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import { requiredSupport } from '../inference/parameter-support';
import type { InferenceTarget } from '../inference/require-target';
import { RoutePlanner } from '../inference/route-planner';
import type { JobAdapter } from '../providers/contract/media-job';
import { NO_USAGE } from '../providers/contract/usage';
import { ProvidersService } from '../providers/providers.service';
import { jobCostMicro } from './job-hold';
import type { JobOrder, SpecifiedJob } from './job-order';
import type { JobKind } from './media-job.types';

/** Who makes jobs of a kind: deployments of providers that have an adapter for it. */
@Injectable()
export class JobRoutes {
  constructor(
    private readonly providers: ProvidersService,
    private readonly candidates: CandidateSelector,
    private readonly planner: RoutePlanner,
  ) {}

  /** `null`: the provider is not configured any more, or does not make this kind. */
  adapterOf(provider: string, kind: JobKind): JobAdapter | null {
    return this.providers.get(provider)?.[kind] ?? null;
  }

  /** Whether any provider of this deployment makes this kind. */
  isImplemented(kind: JobKind): boolean {
    return [...this.providers.configuredIds].some((id) => this.adapterOf(id, kind) !== null);
  }

  /** @throws GatewayError `not_implemented` */
  assertImplemented(kind: JobKind): void {
    if (!this.isImplemented(kind)) throw notImplemented(kind);
  }

  /**
   * The candidates for a job, the best first. One of another model has to make the very same, at a price.
   * @throws GatewayError `not_implemented`; `no_provider_available` and `provider_rate_limited` as for any request
   */
  plan(order: JobOrder, job: SpecifiedJob, target: InferenceTarget): readonly Candidate[] {
    const { kind } = order;
    const known = [target.model, ...target.fallbacks].flatMap((each) => this.candidates.select(each));
    if (known.length > 0 && known.every(({ provider }) => provider[kind] === undefined)) throw notImplemented(kind);
    return this.planner.plan(this.inputOf(order, job, target));
  }

  /** The job as the planner of routes sees it. */
  inputOf({ kind, operation }: JobOrder, job: SpecifiedJob, target: InferenceTarget): InferenceInput {
    const { model, routing } = target;
    const { settings } = job;
    const knows = requiredSupport(routing, job.params([]));
    return {
      ...target,
      operation,
      streamed: false,
      atMostOnce: true,
      estimate: { ...NO_USAGE, seconds: settings.durationSeconds },
      pricedBy: 'resolution' in settings ? { resolution: settings.resolution ?? undefined, audio: settings.audio } : {},
      supports: (candidate) =>
        candidate.provider[kind] !== undefined &&
        knows?.(candidate) !== false &&
        (candidate.model === model ||
          (job.isMadeBy(candidate.model) &&
            jobCostMicro(candidate.price, settings, settings.durationSeconds) !== null)),
    };
  }
}

function notImplemented(kind: JobKind): GatewayError {
  return new GatewayError('not_implemented', `No provider of ${kind} is enabled in this deployment.`);
}
