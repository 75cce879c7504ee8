import { Injectable } from '@nestjs/common';
import { StoredObjects } from '../storage/stored-objects';
import { type DeletedJob, MediaJobRepository } from './media-job.repository';

/** Removes what is left of deleted jobs. Each step may be repeated, by any process. */
@Injectable()
export class JobRemoval {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly objects: StoredObjects,
  ) {}

  /**
   * The objects, then the rows. Objects that the storage does not delete now are not forgotten: their own rows see to it.
   * `false`: its provider has still to be told to stop, and the job goes after that.
   * @throws GatewayError `service_unavailable`, or what the database failed with
   */
  async remove({ id, organizationId, kind }: DeletedJob): Promise<boolean> {
    await this.objects.deleteAll({ kind, organizationId, id });
    await this.jobs.removeArtifacts(id);
    return this.jobs.remove(id);
  }
}
