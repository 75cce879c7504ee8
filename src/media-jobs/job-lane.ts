import type { MediaJob } from './media-job.types';

/** Which concurrency pool a step runs in: fetching the images of a job, or calling its provider. */
export type JobPool = 'inputs' | 'providers';

const INPUT_LANE_PREFIX = 'inputs:';

/** The members of a video's `params` that are images. */
export interface ImageParams {
  readonly image_url?: string;
  readonly end_image_url?: string;
  readonly input_images?: readonly string[];
}

type LaneJob = Pick<MediaJob, 'kind' | 'params' | 'organizationId' | 'route'> &
  Partial<Pick<MediaJob, 'deploymentId' | 'handle' | 'inputTypes'>>;

/** Whether the images of a job must be fetched and stored before it can be submitted. */
export function needsInputs({ kind, params, handle = null, inputTypes = null }: LaneJob): boolean {
  const { image_url: first, end_image_url: last, input_images: references } = params as ImageParams;
  const hasImages = first !== undefined || last !== undefined || references !== undefined;
  return kind === 'video' && handle === null && inputTypes === null && hasImages;
}

/** {@link needsInputs} in SQL. */
export const NEEDS_INPUTS = `(kind = 'video' AND provider_handle IS NULL AND input_types IS NULL
  AND num_nonnulls(params -> 'image_url', params -> 'end_image_url', params -> 'input_images') > 0)`;

/**
 * Jobs of one lane may delay each other. A lane is a deployment or, while images are fetched, an organization, because
 * the organization chooses the hosts.
 */
export function laneOf(job: LaneJob): string {
  if (needsInputs(job)) return INPUT_LANE_PREFIX + job.organizationId;
  return job.deploymentId ?? job.route[0] ?? '';
}

/** {@link laneOf} in SQL. */
export const LANE = `(CASE WHEN ${NEEDS_INPUTS} THEN '${INPUT_LANE_PREFIX}' || organization_id
                          ELSE COALESCE(deployment_id, route[1], '') END)`;

/** The pool of a lane. Deployment ids start with `<vendor>/`, so the prefix is unambiguous. */
export function poolOf(lane: string): JobPool {
  return lane.startsWith(INPUT_LANE_PREFIX) ? 'inputs' : 'providers';
}
