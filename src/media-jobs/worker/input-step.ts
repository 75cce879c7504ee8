import { Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import { JobInputs } from '../job-inputs';
import { JobWorkRepository } from '../job-work.repository';
import { JobEndings } from './job-endings';
import { type NextStep, nextStep, type JobLease } from './job-lease';

/**
 * Fetches and stores the images of a job. A separate step in the organization's lane, so that a hanging host takes no
 * slot of a deployment.
 */
@Injectable()
export class InputStep {
  constructor(
    private readonly work: JobWorkRepository,
    private readonly inputs: JobInputs,
    private readonly endings: JobEndings,
  ) {}

  async storeInputs({ job, stopRequested, trace }: JobLease): Promise<NextStep> {
    let inputTypes: Readonly<Record<string, string>>;
    try {
      inputTypes = await this.inputs.fetch(job, stopRequested, trace);
    } catch (error) {
      // An aborted fetch says nothing about the image.
      if (stopRequested.aborted) return nextStep(await this.work.reschedule(job, 0), 0);
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      await this.endings.failInputs(job, error);
      return null;
    }
    const wakeUp = await this.work.storeInputTypes(job, inputTypes);
    return nextStep(wakeUp, 0);
  }
}
