import { Injectable } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { CandidateSelector, RoutePlanner } from '../inference/route-planner';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import type { InferenceTarget } from '../inference/inference-target';
import { requiredSupport } from '../inference/parameter-support';
import type { JobAdapter } from '../providers/contract/media-job';
import { ProviderError } from '../providers/contract/provider-error';
import { NO_USAGE } from '../providers/contract/usage';
import { ProvidersService } from '../providers/providers.service';
import { jobCostMicro } from './job-hold';
import type { JobOrder, SpecifiedJob } from './job-order';
import type { JobKind } from './media-job.types';

/** Finds the deployments whose providers have an adapter for a job kind. */
@Injectable()
export class JobRoutes {
  constructor(
    private readonly providers: ProvidersService,
    private readonly candidates: CandidateSelector,
    private readonly planner: RoutePlanner,
  ) {}

  /** `null`: the provider is no longer configured or has no adapter for this kind. */
  adapterOf(provider: string, kind: JobKind): JobAdapter | null {
    return this.providers.get(provider)?.[kind] ?? null;
  }

  /** Whether any configured provider has an adapter for this kind. */
  isImplemented(kind: JobKind): boolean {
    return [...this.providers.configuredIds].some((id) => this.adapterOf(id, kind) !== null);
  }

  /** Whether any configured provider has an adapter for jobs. */
  get hasProviders(): boolean {
    return this.isImplemented('video') || this.isImplemented('music');
  }

  /** @throws GatewayError `not_implemented` */
  assertImplemented(kind: JobKind): void {
    if (!this.isImplemented(kind)) throw notImplemented(kind);
  }

  /**
   * The candidates for a job, best first. A fallback model must resolve to the same settings and have a price for them.
   * @throws GatewayError `validation_failed` for options that no candidate can combine; `not_implemented`;
   * `no_provider_available` and `provider_rate_limited` as for any request
   */
  plan(order: JobOrder, job: SpecifiedJob, target: InferenceTarget): readonly Candidate[] {
    const { kind } = order;
    const known = [target.model, ...target.fallbacks].flatMap((each) => this.candidates.select(each));
    if (known.length > 0 && known.every(({ provider }) => provider[kind] === undefined)) throw notImplemented(kind);
    return supporting(this.planner.plan(this.inputOf(order, job, target)), job, kind);
  }

  /** The job as input for the route planner. */
  inputOf({ kind, operation, traits }: JobOrder, job: SpecifiedJob, target: InferenceTarget): InferenceInput {
    const { model, routing } = target;
    const { settings } = job;
    const knows = requiredSupport(routing, job.params([]));
    return {
      ...target,
      operation,
      streamed: false,
      atMostOnce: true,
      traits,
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

/** The candidates whose adapter accepts the job. @throws GatewayError of the first candidate when all refuse */
function supporting(candidates: readonly Candidate[], { outline }: SpecifiedJob, kind: JobKind): readonly Candidate[] {
  const refusals: ProviderError[] = [];
  const able = candidates.filter(({ provider, deployment }) => {
    try {
      provider[kind]?.assertSupported?.(outline, deployment);
      return true;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      refusals.push(error);
      return false;
    }
  });
  const [refusal] = refusals;
  if (able.length > 0 || refusal === undefined) return able;
  const { param, details } = refusal.options;
  throw new GatewayError('validation_failed', refusal.message, {
    ...(param !== undefined && { param }),
    ...(details !== undefined && { details }),
  });
}

function notImplemented(kind: JobKind): GatewayError {
  return new GatewayError('not_implemented', `No ${kind} provider is enabled in this deployment.`);
}
