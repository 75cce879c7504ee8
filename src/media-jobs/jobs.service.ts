import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import type { Principal } from '../common/principal';
import { assertModelAllowed } from '../models/model-access';
import { NO_USAGE } from '../providers/contract/usage';
import { JobMoneyRepository } from './job-money.repository';
import { receiptOf } from './job-receipt';
import { JobRemoval } from './job-removal';
import { JobReplies } from './job-replies';
import { JobRoutes } from './job-routes';
import { inTime } from '../database/in-time';
import { MediaJobRepository } from './media-job.repository';
import { isFinal } from './media-job.states';
import type { JobKind, MediaJob } from './media-job.types';
import type { JobReply } from './to-job-reply';

/** Ids are written in one way only, so that each job has one address. */
const AWAY = 'Jobs cannot be looked up at the moment.';
const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const CANCELED = { status: 'canceled' } as const;
/** How often a job may change between a look at it and its cancellation. Its worker takes a step every other second. */
const MAX_LOOKS = 5;

/** Which job is meant, and by whom. */
export interface JobAddress {
  readonly id: string;
  /** `null`: of any kind. */
  readonly kind: JobKind | null;
  readonly principal: Principal;
}

/** Jobs that exist: told of, canceled, deleted. None of that needs Redis. */
@Injectable()
export class JobsService {
  private readonly logger = new Logger(JobsService.name);

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly money: JobMoneyRepository,
    private readonly replies: JobReplies,
    private readonly removal: JobRemoval,
    private readonly routes: JobRoutes,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `not_found`, `model_not_allowed`, `modality_not_allowed`, `service_unavailable` */
  async get(address: JobAddress): Promise<JobReply> {
    return this.replies.of(await this.require(address));
  }

  /**
   * Cancels a job that is under way and answers with it; deletes one that has ended and answers `null`.
   * @throws GatewayError `job_not_cancellable`; and as {@link get}
   */
  async delete(address: JobAddress): Promise<JobReply | null> {
    let job = await this.require(address);
    for (let look = 1; look <= MAX_LOOKS; look++) {
      if (isFinal(job.status)) return this.deleteEnded(job, look > 1);
      this.assertCancelable(job);
      const receipt = receiptOf(job, CANCELED, NO_USAGE, this.clock.now());
      const canceled = await this.money.finish(job.id, CANCELED, receipt, { version: job.version });
      if (canceled !== null) return this.replies.of(canceled);
      const current = await this.require(address);
      // Nothing has changed, so it is the database that does not let it be canceled: its result is being fetched.
      if (current.version === job.version) break;
      job = current;
    }
    throw notCancelable('The job has been made and is being completed. It cannot be canceled any more.');
  }

  /** The job, if it is theirs and they may use its model. To others every id is one that does not exist. */
  private async require({ id, kind, principal }: JobAddress): Promise<MediaJob> {
    const job = JOB_ID.test(id) ? await inTime(this.jobs.find(id, principal.organizationId, kind), AWAY) : null;
    if (job === null) throw notFound();
    assertModelAllowed(principal, { id: job.model, modality: job.kind }, 'id');
    return job;
  }

  /** What nobody has been asked for can always be taken back. */
  private assertCancelable({ kind, status, provider, submitStartedAt }: MediaJob): void {
    if (submitStartedAt === null || provider === null) return;
    const cancel = this.routes.adapterOf(provider, kind)?.capabilities.cancel ?? 'always';
    if (cancel === 'always' || (cancel === 'queued' && status !== 'running')) return;
    throw notCancelable('The provider of this job cannot stop what it has accepted.');
  }

  /** @param hasJustEnded it was under way when the request came: then its caller did not mean a result that is there */
  private async deleteEnded(job: MediaJob, hasJustEnded: boolean): Promise<null> {
    if (hasJustEnded && job.status === 'succeeded') {
      throw notCancelable('The job has just succeeded. Delete it again to remove it and its results.');
    }
    if (!(await inTime(this.jobs.markDeleted(job.id, job.organizationId), AWAY))) throw notFound();
    try {
      await this.removal.remove(job);
    } catch (error) {
      this.logger.warn(`What is left of the deleted job ${job.id} is removed later: ${String(error)}`);
    }
    return null;
  }
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such job.');
}

function notCancelable(message: string): GatewayError {
  return new GatewayError('job_not_cancellable', message);
}
