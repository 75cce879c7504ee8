import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import type { DeploymentRow } from '../models/catalog-rows';
import { CatalogRepository } from '../models/catalog.repository';
import { type DeploymentServing, reviewServing } from '../models/serving';
import { ProvidersService } from '../providers/providers.service';
import { CandidateSelector } from './candidate-selector';
import type { LeftOutDeployment, LeftOutReason } from './explanation.types';
import type { Candidate, InferenceInput } from './inference.types';
import { ruledOutBy } from './routing-constraints';

/** Says of the deployments that are not in the route of a request why they are not. */
@Injectable()
export class RouteExplainer {
  constructor(
    private readonly selector: CandidateSelector,
    private readonly catalog: CatalogRepository,
    private readonly providers: ProvidersService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** In the order of the request's models. @param route what was planned for it */
  async leftOut(input: InferenceInput, route: readonly Candidate[]): Promise<LeftOutDeployment[]> {
    const serving = reviewServing(await this.catalog.read(), this.providers.configuredIds, this.clock.now());
    const inRoute = new Set(route.map(({ deployment }) => deployment.id));
    return [input.model, ...input.fallbacks].flatMap((model) => {
      const candidates = new Map(this.selector.select(model).map((each) => [each.deployment.id, each]));
      const stored = serving.find(({ row }) => row.id === model.id)?.deployments ?? [];
      return stored
        .filter(({ row }) => !inRoute.has(row.id))
        .map((deployment) => ({
          model: model.id,
          deploymentId: deployment.row.id,
          provider: deployment.row.provider,
          reason: this.reasonFor(deployment, candidates.get(deployment.row.id), input),
        }));
    });
  }

  private reasonFor(
    { obstacles }: DeploymentServing<DeploymentRow>,
    candidate: Candidate | undefined,
    { routing, supports }: InferenceInput,
  ): LeftOutReason {
    const [obstacle] = obstacles;
    if (obstacle !== undefined) return obstacle;
    // It can be called, and this process has not heard of that yet.
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
