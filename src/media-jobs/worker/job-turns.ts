import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../common/clock';
import { InFlight } from '../../common/in-flight';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { WakeUpQueue } from '../../queue/wake-up-queue';
import { JobWorkRepository } from '../job-work.repository';
import type { DueJob, MediaJob } from '../media-job.types';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { LeaseKeeper } from './lease-keeper';
import { PollStep } from './poll-step';
import { SubmitStep } from './submit-step';
import { laneOf, type NextTurn, nextTurn } from './turn';
import { TurnSlots } from './turn-slots';

/**
 * The turns of this process. Each claims a job, does the one thing that is due, writes it down under its fence, gives the
 * job back and sends the next wake-up. Whatever a turn dies of, the job's row says where the next one begins.
 */
@Injectable()
export class JobTurns {
  private readonly logger = new Logger(JobTurns.name);
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  private readonly slots: TurnSlots;
  private readonly leaseSeconds: number;
  private readonly underWay = new Set<string>();
  private readonly running = new InFlight();
  private readonly stopping = new AbortController();
  private taking = true;

  constructor(
    private readonly work: JobWorkRepository,
    private readonly submitting: SubmitStep,
    private readonly polling: PollStep,
    private readonly wakeUps: WakeUpQueue,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.slots = new TurnSlots(worker.concurrency);
    this.leaseSeconds = worker.leaseSeconds;
  }

  /** How many jobs can be begun with now, if their lanes let them. */
  get free(): number {
    return this.taking ? this.slots.free : 0;
  }

  fullLanes(): string[] {
    return this.slots.fullLanes();
  }

  /** Begins a turn, and resolves at its end; never rejects. `null`: not now, there is no place or one is under way. */
  begin(due: DueJob): Promise<void> | null {
    if (!this.taking || this.underWay.has(due.id) || !this.slots.enter(due.lane)) return null;
    return this.run(due);
  }

  /**
   * Begins no more turns and waits for those under way. After `timeoutMs` they are asked to leave what can be done again
   * elsewhere; resolves when they have, or soon after.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.taking = false;
    if (await this.running.whenIdle(timeoutMs)) return;
    this.stopping.abort(new Error('the process is being stopped'));
    await this.running.whenIdle(this.options.unwokenSweepMs);
  }

  private async run(due: DueJob): Promise<void> {
    this.underWay.add(due.id);
    this.running.begin();
    try {
      const next = await this.turn(due);
      // From now on the next wake-up may come, be it at once.
      this.underWay.delete(due.id);
      if (next !== null) await this.wakeUps.send(next.due, next.inMs);
    } catch (error) {
      this.logger.error({ message: 'the work on a job has failed', jobId: due.id, err: error });
    } finally {
      this.underWay.delete(due.id);
      this.slots.leave(due.lane);
      this.running.end();
    }
  }

  private async turn(due: DueJob): Promise<NextTurn> {
    const job = await this.work.claim(due, this.owner, this.leaseSeconds);
    if (job === null) return null;
    const lease = new LeaseKeeper(this.work, job, this.leaseSeconds, this.clock);
    const turn = { job, lost: lease.lost, given: AbortSignal.any([lease.lost, this.stopping.signal]) };
    try {
      return await (job.handle === null ? this.submitting.run(turn) : this.polling.run(turn, job.handle));
    } catch (error) {
      return await this.leave(job, error);
    } finally {
      lease.end();
    }
  }

  /** After a failure that is ours. Where not even this can be written down, the lease runs out. */
  private async leave(job: MediaJob, error: unknown): Promise<NextTurn> {
    if (!this.stopping.signal.aborted) {
      this.logger.error({ message: 'a step of a job has failed and is tried again', jobId: job.id, err: error });
    }
    const inMs = this.stopping.signal.aborted ? 0 : this.options.repairMs;
    return nextTurn(await this.work.reschedule(job, inMs), inMs, laneOf(job));
  }
}
