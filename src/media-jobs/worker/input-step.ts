import { Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import { JobInputs } from '../job-inputs';
import { JobWorkRepository } from '../job-work.repository';
import { ImageMemory } from './image-memory';
import { JobEndings } from './job-endings';
import { type NextStep, nextStep, type JobLease, reschedule } from './job-lease';
import { noRoomPauseMs } from './pauses';

/**
 * Fetches and stores the images of a job. A separate step in the organization's lane, so that an unresponsive host
 * takes no slot of a deployment.
 */
@Injectable()
export class InputStep {
  constructor(
    private readonly work: JobWorkRepository,
    private readonly inputs: JobInputs,
    private readonly memory: ImageMemory,
    private readonly endings: JobEndings,
  ) {}

  async storeInputs({ job, stopRequested, trace }: JobLease): Promise<NextStep> {
    const claim = this.memory.claimForDownload(job.organizationId);
    let inputTypes: Readonly<Record<string, string>>;
    try {
      inputTypes = await this.inputs.fetch(job, { signal: stopRequested, memory: claim, trace });
    } catch (error) {
      // An aborted fetch says nothing about the image.
      if (stopRequested.aborted) return reschedule(this.work, job, 0);
      if (claim.isExhausted) return reschedule(this.work, job, noRoomPauseMs());
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      await this.endings.failInputs(job, error);
      return null;
    } finally {
      claim.release();
    }
    const wakeUp = await this.work.storeInputTypes(job, inputTypes);
    return nextStep(wakeUp, 0);
  }
}
