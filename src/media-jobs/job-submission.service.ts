import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import type { IdempotencyClaim } from '../common/idempotency';
import type { RequestContext } from '../common/request-context';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { fingerprintJson } from '../idempotency/fingerprint';
import { IdempotencyService } from '../idempotency/idempotency.service';
import type { ExplainedRequest, PricedRoute } from '../inference/explanation.types';
import type { Candidate } from '../inference/inference.types';
import { type InferenceTarget, requireTarget } from '../inference/require-target';
import { LimiterService } from '../limits/limiter.service';
import type { ParsedImage } from '../media/image-inputs';
import { ModelCatalogService } from '../models/model-catalog.service';
import { WakeUpQueue } from '../queue/wake-up-queue';
import { StoredObjects } from '../storage/stored-objects';
import { estimateJobMicro, holdForJob, type JobHold } from './job-hold';
import { describeReferences, JobInputs } from './job-inputs';
import { JobMoneyRepository } from './job-money.repository';
import { assertMetadataFits, type JobOrder, type SpecifiedJob } from './job-order';
import { JobRoutes } from './job-routes';
import type { JobSubmission } from './media-job.types';
import { type GivenAnswer, SubmissionsUnderWay } from './submissions-under-way';

/** Limits count the submission; what the job takes is not counted in tokens. */
const NO_TOKENS = 0;

/**
 * `POST /v1/video/generations` and `POST /v1/music/generations`: from a valid body to a queued job, or to the answer that
 * its key was given before. What comes first costs least: a repeated submission needs no look-up of hosts, no provider, no
 * limits and no money.
 */
@Injectable()
export class JobSubmissionService {
  private readonly ttlSeconds: number;
  private readonly underWay = new SubmissionsUnderWay();

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly routes: JobRoutes,
    private readonly idempotency: IdempotencyService,
    private readonly limiter: LimiterService,
    private readonly inputs: JobInputs,
    private readonly objects: StoredObjects,
    private readonly money: JobMoneyRepository,
    private readonly wakeUps: WakeUpQueue,
    @Inject(APP_CONFIG) { jobs }: AppConfig,
  ) {
    this.ttlSeconds = jobs.ttlSeconds;
  }

  /** Answers 202 with the submission. @throws GatewayError the codes of contract sections 4.5 and 4.6 */
  async submit(order: JobOrder, context: RequestContext, reply: FastifyReply): Promise<void> {
    assertMetadataFits(order.body);
    const references = this.inputs.parse(order.sources);
    const target = this.requireTarget(order, context);
    const claim = claimOf(order, context);
    const { organizationId } = target.principal;
    const answer = await this.underWay.run(organizationId, claim, async () => {
      const known = await this.idempotency.lookUp(organizationId, claim);
      return known === null ? this.accept(order, target, claim, references) : { ...known, isReplayed: true };
    });
    send(answer, context, reply);
  }

  /**
   * What the submission comes to. Hosts are not looked up, and images not stored.
   * @throws GatewayError as {@link submit} would before anybody is asked
   */
  describe(order: JobOrder, context: RequestContext): ExplainedRequest {
    assertMetadataFits(order.body);
    this.inputs.parse(order.sources);
    const target = this.requireTarget(order, context);
    const job = order.specify(target.model);
    return {
      input: this.routes.inputOf(order, job, target),
      plan: () => this.routes.plan(order, job, target),
      price: (candidates) => this.price(order, job, target, candidates),
      limitedTokens: NO_TOKENS,
    };
  }

  private price(
    { kind, body }: JobOrder,
    { settings }: SpecifiedJob,
    { model }: InferenceTarget,
    candidates: readonly Candidate[],
  ): JobHold & PricedRoute {
    if (!this.objects.isConfigured) {
      throw new GatewayError('not_configured', `Results of ${kind} need object storage, which is not configured.`);
    }
    const prices = candidates.map(({ price }) => price);
    const estimateMicro = estimateJobMicro(prices, model.id, settings);
    const capMicro = body.max_cost_micro == null ? null : BigInt(body.max_cost_micro);
    return { estimateMicro, ...holdForJob(kind, estimateMicro, capMicro) };
  }

  /** A kind that nobody makes here is not implemented, whatever model is asked for it. */
  private requireTarget(order: JobOrder, context: RequestContext): InferenceTarget {
    try {
      return requireTarget(this.catalog, context, order.body, order.kind);
    } catch (error) {
      const isForbidden = error instanceof GatewayError && error.status === 403;
      if (!isForbidden) this.routes.assertImplemented(order.kind);
      throw error;
    }
  }

  private async accept(
    order: JobOrder,
    target: InferenceTarget,
    claim: IdempotencyClaim,
    references: readonly ParsedImage[],
  ): Promise<GivenAnswer> {
    const submission = await this.prepare(order, target, claim, references);
    const { context, principal, model, fallbacks } = target;
    const lease = await this.limiter.admit({ context, principal, model, fallbacks, tokens: NO_TOKENS });
    try {
      return await this.commit(submission, references);
    } finally {
      // The job that goes on from here is no request in flight.
      lease.release(0);
    }
  }

  /** All that is stored of the job. Nothing has been spent by then. */
  private async prepare(
    order: JobOrder,
    target: InferenceTarget,
    claim: IdempotencyClaim,
    references: readonly ParsedImage[],
  ): Promise<JobSubmission> {
    const { kind, body, sources } = order;
    const { context, principal, model } = target;
    const job = order.specify(model);
    await this.inputs.assertPublicHosts(sources.addresses, references);
    const candidates = this.routes.plan(order, job, target);
    const { holdMicro, maxCostMicro } = this.price(order, job, target, candidates);
    return {
      id: context.id,
      organizationId: principal.organizationId,
      keyId: principal.keyId,
      kind,
      model: model.id,
      holdMicro,
      maxCostMicro,
      params: job.params(describeReferences(references)),
      settings: job.settings,
      route: candidates.map(({ deployment }) => deployment.id),
      webhookUrl: body.webhook_url ?? null,
      metadata: body.metadata ?? {},
      ttlSeconds: this.ttlSeconds,
      claim,
    };
  }

  private async commit(submission: JobSubmission, references: readonly ParsedImage[]): Promise<GivenAnswer> {
    await this.inputs.store(submission, references);
    let isAccepted = false;
    try {
      const answer = await this.money.submit(submission);
      isAccepted = !answer.isReplayed;
      // A hint: the sweep of due jobs finds what it does not reach.
      if (isAccepted) void this.wakeUps.send({ id: submission.id, version: 0, lane: submission.route[0] ?? '' });
      return answer;
    } catch (error) {
      // Without an answer of the database the job may be there, and need its images.
      isAccepted = !(error instanceof GatewayError) || error.code === 'service_unavailable';
      throw error;
    } finally {
      if (!isAccepted) await this.inputs.discard(submission, references);
    }
  }
}

function claimOf({ operation, body }: JobOrder, { idempotencyKey }: RequestContext): IdempotencyClaim {
  if (idempotencyKey === null) throw new Error('the route does not require its key');
  return { operation, key: idempotencyKey, fingerprint: fingerprintJson(operation, body), atMostOnce: false };
}

/** The bytes are the same for everybody who sends this key; only the request's own id is not. */
function send(
  { status, headers, body, isReplayed }: GivenAnswer,
  { requestId, rateLimitHeaders }: RequestContext,
  reply: FastifyReply,
): void {
  if (isReplayed) reply.header('idempotent-replayed', 'true');
  reply
    .code(status)
    .headers({ ...rateLimitHeaders, ...headers, 'x-request-id': requestId })
    .send(body);
}
