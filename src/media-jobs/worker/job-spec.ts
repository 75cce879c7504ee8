import type { JobSpec } from '../../providers/contract/media-job';
import type { JobInputs } from '../job-inputs';
import type { MediaJob, MusicSettings, VideoSettings } from '../media-job.types';

/**
 * Builds the provider request of a job, with the stored images of a video.
 * @throws GatewayError `validation_failed` for an image that is no longer stored; `service_unavailable`
 */
export async function readJobSpec(job: MediaJob, inputs: JobInputs): Promise<JobSpec> {
  const prompt = String(job.params.prompt);
  if (job.kind === 'music') return { kind: 'music', prompt, ...(job.settings as MusicSettings) };
  return { kind: 'video', prompt, ...(job.settings as VideoSettings), ...(await inputs.load(job)) };
}
