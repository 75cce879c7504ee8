/** The documents of vendors with a queue of videos, as their documentation shows them. */
import type { ReceivedRequest } from './fake-upstream';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import type { JobVendor, VendorState } from './job-upstream';

const SECRET_PROMPT = 'the secret of my prompt';

/** The last segment of the path of a question. */
function lastSegment({ method, url }: ReceivedRequest): string | null {
  return method === 'POST' ? null : decodeURIComponent(url.split('?', 1)[0]?.split('/').at(-1) ?? '');
}

/** https://docs.x.ai/developers/rest-api-reference/inference/videos */
export const XAI_JOBS: JobVendor = {
  expires: true,
  jobOf: lastSegment,
  accepted: (id) => ({ request_id: id }),
  report: ({ state, file }) => {
    const model = 'grok-imagine-video';
    switch (state) {
      case 'queued':
        return '';
      case 'done':
        return {
          status: 'done',
          model,
          ...(file !== null && { video: { url: file, duration: 6, respect_moderation: true } }),
          usage: { cost_in_usd_ticks: 4_200_000_000 },
          progress: 100,
        };
      case 'moderated':
        return { status: 'done', model, video: { url: '', duration: 6, respect_moderation: false } };
      case 'failed':
        return { status: 'failed', error: { code: 'internal_error', message: SECRET_PROMPT } };
      case 'expired':
        return { status: 'expired' };
      default:
        return { status: state === 'strange' ? 'upscaling' : 'pending', model, progress: 42 };
    }
  },
  unknown: [404, { code: 'not-found', error: 'Request not found' }],
  limited: { code: 'resource-exhausted', error: 'Too many requests' },
  refused: [400, { code: 'content_moderation', error: `Refused: ${SECRET_PROMPT}` }],
};

const RUNWAY_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'THROTTLED',
  running: 'RUNNING',
  done: 'SUCCEEDED',
  failed: 'FAILED',
  moderated: 'FAILED',
  expired: 'FAILED',
  canceled: 'CANCELLED',
  strange: 'WARMING_UP',
};

/** https://docs.dev.runwayml.com/api/#tag/Task-management */
export const RUNWAY_JOBS: JobVendor = {
  expires: false,
  jobOf: lastSegment,
  accepted: (id) => ({ id, estimatedCost: { credits: 60 } }),
  report: ({ id, state, file }) => ({
    id,
    createdAt: '2026-11-22T12:00:00Z',
    status: RUNWAY_STATES[state],
    ...(state === 'running' && { progress: 0.42, estimatedCost: { credits: 60 } }),
    ...(state === 'done' && { output: file === null ? [] : [file], cost: { credits: 60 } }),
    ...(state === 'failed' && { failure: SECRET_PROMPT, failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' }),
    ...(state === 'moderated' && { failure: SECRET_PROMPT, failureCode: 'SAFETY.INPUT.TEXT' }),
  }),
  unknown: [404, { error: 'An asset matching this ID was not found.' }],
  limited: { error: 'You have exceeded your daily task limit.' },
};

/** https://docs.agents.lumalabs.ai/guides/errors/ */
export const LUMA_JOBS: JobVendor = {
  expires: false,
  jobOf: lastSegment,
  accepted: (id) => ({ id, type: 'video', state: 'queued', model: 'ray-3.2', output: [], failure_code: null }),
  report: ({ id, state, file }) => {
    const common = { id, type: 'video', model: 'ray-3.2', failure_reason: null, failure_code: null };
    switch (state) {
      case 'done':
        return { ...common, state: 'completed', output: file === null ? [] : [{ type: 'video', url: file }] };
      case 'failed':
        return { ...common, state: 'failed', failure_reason: SECRET_PROMPT, failure_code: 'generation_failed' };
      case 'moderated':
        return { ...common, state: 'failed', failure_reason: SECRET_PROMPT, failure_code: 'content_moderated' };
      case 'running':
        return { ...common, state: 'processing', output: [] };
      default:
        return { ...common, state: state === 'strange' ? 'dreaming' : 'queued', output: [] };
    }
  },
  unknown: [404, { detail: 'Generation not found' }],
  limited: { detail: 'Too many concurrent jobs' },
};

const MINIMAX_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'queued',
  running: 'running',
  done: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  expired: 'expired',
  canceled: 'cancelled',
  strange: 'preparing',
};

/** https://platform.minimax.io/docs/api-reference/video-generation-v2-query */
export const MINIMAX_JOBS: JobVendor = {
  expires: true,
  jobOf: lastSegment,
  accepted: (id) => ({ task_id: id }),
  report: ({ id, state, file }) => ({
    task: {
      id,
      model: 'MiniMax-H3',
      status: MINIMAX_STATES[state],
      ...(state === 'done' && {
        content: file === null ? {} : { url: file },
        duration: 5.2,
        usage: { total_seconds: 5, input_seconds: 0, output_seconds: 5 },
      }),
      ...(state === 'failed' && { error: { code: 1000, message: SECRET_PROMPT } }),
      ...(state === 'moderated' && { error: { code: 1027, message: SECRET_PROMPT } }),
    },
  }),
  unknown: [404, { type: 'error', error: { type: 'not_found_error', message: 'task not found', http_code: '404' } }],
  limited: { type: 'error', error: { type: 'rate_limit_error', message: 'rate limit', http_code: '429' } },
  refused: [
    422,
    {
      type: 'error',
      error: {
        type: 'unprocessable_entity_error',
        message: 'video description contains sensitive content (1026)',
        http_code: '422',
      },
    },
  ],
};

const KLING_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'submitted',
  running: 'processing',
  done: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  expired: 'failed',
  canceled: 'failed',
  strange: 'reviewing',
};

/** https://kling.ai/document-api/api/video/3-0-omni/image-to-video */
export const KLING_JOBS: JobVendor = {
  expires: false,
  jobOf: ({ method, url }) => (method === 'POST' ? null : new URL(url, 'http://a').searchParams.get('task_ids')),
  tokenOf: ({ url }) => new URL(url, 'http://a').searchParams.get('external_task_ids'),
  tokenIn: (body) => (JSON.parse(body) as { options: { external_task_id: string } }).options.external_task_id,
  accepted: (id) => ({ code: 0, message: 'SUCCEED', request_id: 'r', data: { id, status: 'submitted' } }),
  report: ({ id, token, state, file }) => ({
    code: 0,
    message: 'SUCCEED',
    request_id: 'r',
    data: [
      {
        id,
        external_id: token,
        status: KLING_STATES[state],
        ...(state === 'done' && {
          outputs: file === null ? [] : [{ type: 'video', id: 'v', url: file, duration: '5.041' }],
          billing: [{ charge_type: 'unit', amount: '3.0', package_type: 'video' }],
        }),
        ...(state === 'failed' && { message: 'internal error' }),
        ...(state === 'moderated' && { message: 'triggering the content risk control of the platform' }),
      },
    ],
  }),
  unknown: [200, { code: 0, message: 'SUCCEED', request_id: 'r', data: [] }],
  limited: { code: 1303, message: 'parallel task over resource pack limit', request_id: 'r' },
  refused: [400, { code: 1301, message: SECRET_PROMPT, request_id: 'r' }],
};

const ARK_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'queued',
  running: 'running',
  done: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  expired: 'expired',
  canceled: 'cancelled',
  strange: 'archiving',
};

/** https://docs.byteplus.com/en/docs/ModelArk/1521309 */
export const ARK_JOBS: JobVendor = {
  expires: true,
  cancelsQueuedOnly: true,
  jobOf: lastSegment,
  accepted: (id) => ({ id }),
  report: ({ id, state, file }) => ({
    id,
    model: 'seedance-2-0',
    status: ARK_STATES[state],
    ...(state === 'done' && {
      content: file === null ? {} : { video_url: file },
      usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    }),
    ...(state === 'failed' && { error: { code: 'InternalServiceError', message: SECRET_PROMPT } }),
    ...(state === 'moderated' && { error: { code: 'OutputVideoSensitiveContentDetected', message: SECRET_PROMPT } }),
  }),
  unknown: [404, { error: { code: 'ResourceNotFound', message: 'The task is not found', type: 'NotFound' } }],
  limited: { error: { code: 'RateLimitExceeded', message: 'limit', type: 'TooManyRequests' } },
  refused: [400, { error: { code: 'InputTextSensitiveContentDetected', message: SECRET_PROMPT, type: 'BadRequest' } }],
};

const OPENROUTER_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'pending',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'expired',
  canceled: 'cancelled',
  strange: 'upscaling',
};

/** https://openrouter.ai/docs/api_reference/videos */
export const OPENROUTER_JOBS: JobVendor = {
  expires: true,
  jobOf: lastSegment,
  accepted: (id) => ({ id, polling_url: `/api/v1/videos/${id}`, status: 'pending' }),
  report: ({ id, state, file }) => ({
    id,
    generation_id: `gen-${id}`,
    polling_url: `/api/v1/videos/${id}`,
    status: OPENROUTER_STATES[state],
    ...(state === 'done' && { unsigned_urls: file === null ? [] : [file], usage: { cost: 0.25, is_byok: false } }),
    ...(state === 'failed' && { error: SECRET_PROMPT }),
    ...(state === 'moderated' && { error: `Blocked by the safety system: ${SECRET_PROMPT}` }),
  }),
  filesNeedKey: true,
  unknown: [404, { error: { code: 404, message: 'Video job not found' } }],
  limited: { error: { code: 429, message: 'Rate limited', metadata: { error_type: 'rate_limit_exceeded' } } },
  refused: [
    400,
    { error: { code: 400, message: SECRET_PROMPT, metadata: { error_type: 'content_policy_violation' } } },
  ],
};

const OPENAI_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'queued',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'failed',
  canceled: 'failed',
  strange: 'loading',
};

/** https://docs.vllm.ai/projects/vllm-omni/en/latest/serving/videos_api/ */
export const OPENAI_VIDEO_JOBS: JobVendor = {
  expires: false,
  forgetsCanceled: true,
  filesNeedKey: true,
  // Its files are at an address that follows from the id.
  alwaysHasFile: true,
  jobOf: (request) => (request.url.endsWith('/content') ? null : lastSegment(request)),
  accepted: (id) => ({
    id,
    object: 'video',
    status: 'queued',
    progress: 0,
    model: 'm',
    seconds: '4',
    size: '1280x720',
  }),
  report: ({ id, state }) => ({
    id,
    object: 'video',
    status: OPENAI_STATES[state],
    progress: state === 'running' ? 42 : 0,
    ...(state === 'failed' && { error: { code: 'internal_error', message: SECRET_PROMPT } }),
    ...(state === 'moderated' && { error: { code: 'moderation_blocked', message: SECRET_PROMPT } }),
  }),
  unknown: [404, { error: { message: 'Video not found', type: 'NotFoundError', code: 404 } }],
  limited: { error: { message: 'limit', type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
};

const REPLICATE_STATES: Readonly<Record<VendorState, string>> = {
  queued: 'starting',
  running: 'processing',
  done: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  expired: 'aborted',
  canceled: 'canceled',
  strange: 'reviewing',
};

/** https://replicate.com/docs/reference/http and https://replicate.com/docs/topics/predictions/lifecycle */
export const REPLICATE_JOBS: JobVendor = {
  expires: true,
  isMusic: (body) => body.includes('"duration"'),
  jobOf: ({ url }) => /\/predictions\/([^/?]+)/.exec(url)?.[1] ?? null,
  cancels: ({ url }) => url.endsWith('/cancel'),
  accepted: (id, origin) => {
    const prediction = `${origin}/v1/predictions/${id}`;
    return { id, status: 'starting', output: null, urls: { get: prediction, cancel: `${prediction}/cancel` } };
  },
  report: ({ id, state, file }) => ({
    id,
    status: REPLICATE_STATES[state],
    input: { prompt: SECRET_PROMPT },
    // Without its data a prediction still says that it has succeeded.
    output: state === 'done' ? file : null,
    error: null,
    ...(state === 'done' && { metrics: { predict_time: 12.5 } }),
    ...(state === 'failed' && { error: `E1001: out of memory for ${SECRET_PROMPT}` }),
    ...(state === 'moderated' && { error: `The input was flagged as sensitive (E005): ${SECRET_PROMPT}` }),
  }),
  unknown: [404, { title: 'Not found', detail: 'The requested resource could not be found.', status: 404 }],
  limited: { title: 'Throttled', detail: 'Request was throttled. Your rate limit resets in ~7s.', status: 429 },
};

/** Of models that the stand-in plays. */
export const REPLICATE_JOB_MAPPINGS = {
  video: { map: { prompt: 'prompt', resolution: 'resolution' }, output: { video: '$' } },
  music: { map: { prompt: 'prompt', duration_seconds: 'duration' }, output: { audio: '$' } },
} as const satisfies Readonly<Record<'video' | 'music', RequestMapping>>;
