import { PageQuery, QueryOneOf, QueryText, QueryTime, QueryUuid } from '../../core/validation/query-fields';
import { JOB_STATUSES, type JobStatus } from '../../media-jobs/media-job.states';
import { JOB_KINDS, type JobKind } from '../../media-jobs/media-job.types';

/** The query of `listJobs`. */
export class JobsQueryDto extends PageQuery {
  @QueryOneOf(JOB_KINDS)
  kind?: JobKind;

  @QueryOneOf(JOB_STATUSES)
  status?: JobStatus;

  @QueryText({ max: 256 })
  model?: string;

  @QueryUuid()
  key_id?: string;

  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;
}
