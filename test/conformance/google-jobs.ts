/** The documents of Google's video models, as its documentation shows them. */
import { type JobVendor, MP4, type VendorState } from './job-upstream';

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

const OMNI_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'in_progress',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  moderated: 'completed',
  expired: 'failed',
  canceled: 'cancelled',
  strange: 'upscaling',
};

/** https://ai.google.dev/gemini-api/docs/interactions-overview and `…/docs/omni` */
export const OMNI_JOBS: JobVendor = {
  expires: false,
  filesNeedKey: true,
  jobOf: ({ url }) => /\/interactions\/([^/?]+)/.exec(url)?.[1] ?? null,
  cancels: ({ url }) => url.endsWith('/cancel'),
  accepted: (id) => ({ id, object: 'interaction', status: 'in_progress', steps: [] }),
  report: ({ id, state, file }) => {
    const video = { type: 'video', mime_type: 'video/mp4', uri: file };
    const refusal = { type: 'text', text: `I cannot make this: ${SECRET_PROMPT}` };
    const content = state === 'done' ? (file === null ? [] : [video]) : state === 'moderated' ? [refusal] : [];
    return {
      id,
      object: 'interaction',
      status: OMNI_STATES[state],
      steps: [
        { type: 'user_input', content: [{ type: 'text', text: SECRET_PROMPT }] },
        { type: 'model_output', content },
      ],
      ...(state === 'failed' && { error: { code: 'internal', message: SECRET_PROMPT } }),
    };
  },
  unknown: [404, { error: { code: 'not_found', message: 'Interaction not found' } }],
  limited: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded.' } },
};
