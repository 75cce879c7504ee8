import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import type { GatewayError } from '../core/errors/gateway-error';
import type { DeploymentRow } from '../models/catalog-rows';
import { CatalogRepository } from '../models/catalog.repository';
import { type DeploymentServing, reviewServing } from '../models/serving';
import { ProvidersService } from '../providers/providers.service';
import { CandidateSelector } from './candidate-selector';
import type { LeftOutDeployment, LeftOutReason } from './explanation.types';
import type { Candidate, InferenceInput } from './inference.types';
import { ruledOutBy } from './routing-constraints';

/** The refusals of adapters before sending, by candidate. */
export type Refusals = ReadonlyMap<Candidate, GatewayError>;

type Verdict = Pick<LeftOutDeployment, 'reason' | 'param'>;

/** Explains why deployments are not in the route of a request. */
@Injectable()
export class RouteExplainer {
  constructor(
    private readonly selector: CandidateSelector,
    private readonly catalog: CatalogRepository,
    private readonly providers: ProvidersService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * In the order of the request's models.
   * @param asked candidates of the route that would be called
   * @param refusals the other candidates of the route
   */
  async leftOut(input: InferenceInput, asked: readonly Candidate[], refusals: Refusals): Promise<LeftOutDeployment[]> {
    const serving = reviewServing(await this.catalog.read(), this.providers.configuredIds, this.clock.now());
    const isAsked = new Set(asked.map(({ deployment }) => deployment.id));
    const refused = new Map([...refusals].map(([{ deployment }, refusal]) => [deployment.id, refusal]));
    return [input.model, ...input.fallbacks].flatMap((model) => {
      const candidates = new Map(this.selector.select(model).map((each) => [each.deployment.id, each]));
      const stored = serving.find(({ row }) => row.id === model.id)?.deployments ?? [];
      return stored
        .filter(({ row }) => !isAsked.has(row.id))
        .map((deployment) => ({
          model: model.id,
          deploymentId: deployment.row.id,
          provider: deployment.row.provider,
          ...this.judge(deployment, candidates.get(deployment.row.id), refused.get(deployment.row.id), input),
        }));
    });
  }

  private judge(
    deployment: DeploymentServing<DeploymentRow>,
    candidate: Candidate | undefined,
    refusal: GatewayError | undefined,
    input: InferenceInput,
  ): Verdict {
    if (refusal !== undefined) return { reason: 'unsupported', param: refusal.param ?? null };
    return { reason: this.reasonFor(deployment, candidate, input), param: null };
  }

  private reasonFor(
    { obstacles }: DeploymentServing<DeploymentRow>,
    candidate: Candidate | undefined,
    { routing, supports }: InferenceInput,
  ): LeftOutReason {
    const [obstacle] = obstacles;
    if (obstacle !== undefined) return obstacle;
    // The deployment became callable, but this process has not reloaded the catalogue yet.
    if (candidate === undefined) return 'not_needed';
    const constraint = ruledOutBy(candidate, routing ?? {});
    if (constraint !== null) return constraint;
    if (supports?.(candidate) === false) return 'unsupported';
    const { health, load } = candidate;
    const nowMs = this.clock.monotonic();
    if (load.isFull) return 'full';
    if (health.standing(nowMs) !== 'away') return 'not_needed';
    return health.isResting(nowMs) ? 'rate_limited' : 'breaker_open';
  }
}
