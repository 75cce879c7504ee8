import { Injectable } from '@nestjs/common';
import { StoredObjects } from '../core/storage/stored-objects';
import { type DeletedJob, MediaJobRepository } from './media-job.repository';
import type { MediaJob } from './media-job.types';

/** Removes the objects and rows of deleted jobs. Every step is idempotent and can run in any process. */
@Injectable()
export class JobRemoval {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly objects: StoredObjects,
  ) {}

  /**
   * Deletes the objects, then the rows. Rows of objects that storage fails to delete remain and are retried. `false`:
   * the job must first be canceled at its provider, and is removed after that.
   * @throws GatewayError `service_unavailable`, or the database error
   */
  async remove(job: DeletedJob): Promise<boolean> {
    await this.objects.deleteAll(job);
    await this.jobs.removeArtifacts(job);
    return this.jobs.remove(job);
  }

  /** Deletes objects that a step stored after its job was deleted. @throws as {@link remove} */
  async discardLateObjects(job: MediaJob): Promise<void> {
    if ((await this.jobs.find(job.id, job.organizationId, job.kind)) === null) await this.objects.deleteAll(job);
  }
}
