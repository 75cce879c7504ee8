import { Inject, Injectable } from '@nestjs/common';
import { type Answer, Bytes } from '../core/http/answer';
import { GatewayError } from '../core/errors/gateway-error';
import type { IdempotencyClaim } from '../core/types/idempotency';
import type { RequestContext } from '../core/types/request-context';
import { inStep } from '../core/types/trace';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { fingerprintJson } from '../auth/idempotency/fingerprint';
import { IdempotencyService } from '../auth/idempotency/idempotency.service';
import { ReplayedResponse } from '../auth/idempotency/replayed-response';
import type { ExplainedRequest, PricedRoute } from '../inference/explanation.types';
import type { Candidate } from '../inference/inference.types';
import { type InferenceTarget, requireTarget } from '../inference/inference-target';
import { KEY_FACTS } from '../inference/idempotent-execution';
import { RequestMetrics } from '../inference/request-metrics';
import { holdFacts, LIMITS_FACTS } from '../inference/request-steps';
import { LimiterService } from '../auth/rate-limits/limiter.service';
import type { ParsedImage } from '../core/media/image-inputs';
import { ModelCatalogService } from '../models/model-catalog.service';
import { JobWakeUps } from './job-wake-ups';
import { StoredObjects } from '../core/storage/stored-objects';
import { estimateJobMicro, holdForJob, type JobHold } from './job-hold';
import { describeReferences, JobInputs } from './job-inputs';
import { JobMoneyRepository } from './job-money.repository';
import { assertMetadataFits, type JobOrder, type SpecifiedJob } from './job-order';
import { JobRoutes } from './job-routes';
import type { JobSubmission } from './media-job.types';
import { type SubmissionResponse, SubmissionsUnderWay } from './submissions-under-way';

/** Rate limits count the submission; jobs use no tokens. */
const NO_TOKENS = 0;

/**
 * `POST /v1/video/generations` and `POST /v1/music/generations`: queues a job, or replays the stored response of the
 * idempotency key. Cheap checks come first: a replay needs no DNS, provider, rate limit or hold.
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
    private readonly wakeUps: JobWakeUps,
    private readonly metrics: RequestMetrics,
    @Inject(APP_CONFIG) { jobs }: AppConfig,
  ) {
    this.ttlSeconds = jobs.ttlSeconds;
  }

  /** The 202 with the submission. @throws GatewayError the codes of the operation in `openapi/` */
  async submit(order: JobOrder, context: RequestContext): Promise<Answer> {
    assertMetadataFits(order.body);
    const references = this.inputs.parse(order.sources);
    const target = this.requireTarget(order, context);
    const claim = claimOf(order, context);
    const { organizationId } = target.principal;
    const submitted = await this.underWay.submitOnce(organizationId, claim, async () => {
      const known = await inStep(
        context.trace,
        'idempotency',
        () => this.idempotency.lookUp(organizationId, claim, context),
        KEY_FACTS,
      );
      return known === null ? this.accept(order, target, claim, references) : { ...known, isReplayed: true };
    });
    context.isRecorded = true;
    this.metrics.recordUncharged(order.operation, target.model.id, 'success', false);
    // Every request with this key gets the same bytes; only the request id differs.
    const { status, headers, body, isReplayed } = submitted;
    return isReplayed ? new ReplayedResponse(submitted) : new Bytes(body, null, { status, headers });
  }

  /**
   * The route and price of a submission, without resolving hosts or storing images.
   * @throws GatewayError the validation errors of {@link submit}
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
      throw new GatewayError('not_configured', `Object storage is not configured; ${kind} jobs require it.`);
    }
    const prices = candidates.map(({ price }) => price);
    const estimateMicro = estimateJobMicro(prices, model.id, settings);
    const capMicro = body.max_cost_micro == null ? null : BigInt(body.max_cost_micro);
    return { estimateMicro, ...holdForJob(kind, estimateMicro, capMicro) };
  }

  /** A kind without any provider is `not_implemented` for every model. */
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
  ): Promise<SubmissionResponse> {
    const submission = await this.prepare(order, target, claim, references);
    const { context, principal, model, fallbacks } = target;
    const limited = { context, principal, model, fallbacks, tokens: NO_TOKENS };
    const lease = await inStep(context.trace, 'limits', () => this.limiter.admit(limited), LIMITS_FACTS);
    try {
      const facts = holdFacts(submission.holdMicro);
      return await inStep(context.trace, 'hold', () => this.commit(submission, references), facts);
    } finally {
      // The job continues, but the request is no longer in flight.
      lease.release(0);
    }
  }

  /** Builds the row of the job, before any hold. */
  private async prepare(
    order: JobOrder,
    target: InferenceTarget,
    claim: IdempotencyClaim,
    references: readonly ParsedImage[],
  ): Promise<JobSubmission> {
    const { kind, body, sources } = order;
    const { context, principal, model } = target;
    const job = order.specify(model);
    await this.inputs.assertPublicHosts(sources.urls, references);
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
      traceParent: context.trace?.traceparent ?? null,
      ttlSeconds: this.ttlSeconds,
      claim,
    };
  }

  private async commit(submission: JobSubmission, references: readonly ParsedImage[]): Promise<SubmissionResponse> {
    await this.inputs.store(submission, references);
    let isAccepted = false;
    try {
      const answer = await this.money.submit(submission);
      isAccepted = !answer.isReplayed;
      // Best effort: the sweep of due jobs finds lost wake-ups.
      if (isAccepted) void this.wakeUps.wake(submission);
      return answer;
    } catch (error) {
      // When the database does not respond, the job may exist, so its images must be kept.
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
