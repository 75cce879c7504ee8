/** The documents of Google's video models, as its documentation shows them. */
import { type JobVendor, MP4 } from './job-upstream';

const SECRET_PROMPT = 'the secret of my prompt';

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation */
export const VEO_JOBS: JobVendor = {
  expires: false,
  jobOf: ({ url, body }) =>
    url.endsWith(':fetchPredictOperation') ? (JSON.parse(body) as { operationName: string }).operationName : null,
  cancels: () => false,
  accepted: (name) => ({ name }),
  report: ({ id: name, state, file }) => {
    const response = {
      '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
      raiMediaFilteredCount: state === 'moderated' ? 1 : 0,
    };
    switch (state) {
      case 'done': {
        const video = { bytesBase64Encoded: MP4.toString('base64'), mimeType: 'video/mp4' };
        return { name, done: true, response: { ...response, videos: file === null ? [] : [video] } };
      }
      case 'moderated':
        return { name, done: true, response: { ...response, raiMediaFilteredReasons: [SECRET_PROMPT] } };
      case 'failed':
        return { name, done: true, error: { code: 13, message: SECRET_PROMPT } };
      default:
        return { name, ...(state === 'strange' && { done: false, metadata: { state: 'UPSCALING' } }) };
    }
  },
  unknown: [404, { error: { code: 404, status: 'NOT_FOUND', message: 'The operation does not exist.' } }],
  limited: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded.' } },
};
