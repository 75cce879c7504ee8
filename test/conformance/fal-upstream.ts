/** Plays fal's queue as its documents describe it: https://fal.ai/docs/api-reference/inference-api. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import type { Answer, ReceivedRequest } from './fake-upstream';

/** Texts in a prompt that decide what becomes of a request; without one it is done at the first question. */
export const FAL_PROMPTS = {
  done: '[[done]]',
  underWay: '[[under way]]',
  failed: '[[failed]]',
  expired: '[[expired]]',
  unreachable: '[[unreachable]]',
  answerLost: '[[answer lost]]',
  rateLimited: '[[rate limited]]',
  silent: '[[silent]]',
} as const;

/** The end of a request: `COMPLETED`, with the status and the document of its result. */
export interface FalEnd {
  readonly status?: object;
  readonly code?: number;
  readonly result: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface FalJob {
  readonly body: string;
  questions: number;
  canceled: boolean;
}

const MP4 = readFileSync(join(__dirname, '../../src/providers/vendors/mock/fixtures/video-480x480.mp4'));
const MP3 = readFileSync(join(__dirname, '../../src/providers/vendors/mock/fixtures/music-44100.mp3'));

const FAILED: FalEnd = {
  status: { error: 'Internal Server Error', error_type: 'no_media_generated' },
  code: 422,
  result: { detail: [{ loc: ['body'], msg: 'the secret of my prompt', type: 'no_media_generated' }] },
};
const EXPIRED: FalEnd = {
  status: { error: 'Request timed out', error_type: 'request_timeout' },
  code: 504,
  result: { detail: 'Request timed out', error_type: 'request_timeout' },
};
const CANCELED: FalEnd = {
  status: { error: 'Request was cancelled', error_type: 'client_cancelled' },
  code: 499,
  result: { detail: 'Request was cancelled' },
};

export class FalUpstream {
  readonly jobs = new Map<string, FalJob>();
  readonly submissions: ReceivedRequest[] = [];
  /** How often a status is asked for before a request ends. */
  questionsToEnd = 0;
  /** What requests end with, unless their prompt says more. */
  end: FalEnd | null = null;
  /** Replaces an answer; `true`: it has answered. */
  intercept: (response: ServerResponse, request: ReceivedRequest) => boolean = () => false;

  get answer(): Answer {
    return (response, request) => {
      if (!this.intercept(response, request)) this.respond(response, request);
    };
  }

  private respond(response: ServerResponse, request: ReceivedRequest): void {
    const { url, method } = request;
    const origin = `http://${request.headers.host}`;
    if (url.startsWith('/files/')) {
      const isVideo = url.endsWith('.mp4');
      response.setHeader('content-type', isVideo ? 'video/mp4' : 'audio/mpeg').end(isVideo ? MP4 : MP3);
      return;
    }
    const [, id, part] = /\/requests\/([\w-]+)(\/\w+)?$/.exec(url) ?? [];
    if (id === undefined) {
      this.submit(response, request, origin);
      return;
    }
    const job = this.jobs.get(id);
    if (job === undefined) send(response, 404, { detail: 'Request not found', status: 'NOT_FOUND' });
    else if (method === 'PUT') this.cancel(response, job);
    else this.tell(response, job, part === '/status', origin);
  }

  private submit(response: ServerResponse, request: ReceivedRequest, origin: string): void {
    const { body } = request;
    this.submissions.push(request);
    if (body.includes(FAL_PROMPTS.silent)) return;
    if (body.includes(FAL_PROMPTS.rateLimited)) {
      response.setHeader('retry-after', '7');
      send(response, 429, { detail: 'Too many requests' });
      return;
    }
    const id = `request-${this.jobs.size + 1}`;
    this.jobs.set(id, { body, questions: 0, canceled: false });
    if (body.includes(FAL_PROMPTS.answerLost)) {
      response.destroy();
      return;
    }
    const place = `${origin}/owner/app/requests/${id}`;
    const urls = { status_url: `${place}/status`, response_url: place, cancel_url: `${place}/cancel` };
    send(response, 200, { request_id: id, gateway_request_id: id, status: 'IN_QUEUE', queue_position: 1, ...urls });
  }

  private cancel(response: ServerResponse, job: FalJob): void {
    const { body, questions } = job;
    if (!body.includes(FAL_PROMPTS.underWay)) {
      send(response, 400, { status: 'ALREADY_COMPLETED' });
      return;
    }
    // Queued until it has been asked for twice.
    if (questions < 2) job.canceled = true;
    send(response, questions < 2 ? 200 : 202, { status: questions < 2 ? 'OK' : 'CANCELLATION_REQUESTED' });
  }

  private tell(response: ServerResponse, job: FalJob, asksForStatus: boolean, origin: string): void {
    const end = this.endOf(job, origin);
    if (asksForStatus) {
      job.questions += 1;
      const pending = job.questions < 2 ? { status: 'IN_QUEUE', queue_position: 3 } : { status: 'IN_PROGRESS' };
      send(response, end === null ? 202 : 200, end === null ? pending : { status: 'COMPLETED', ...end.status });
      return;
    }
    for (const [name, value] of Object.entries(end?.headers ?? {})) response.setHeader(name, value);
    if (end === null) send(response, 400, { detail: 'Request is still in progress' });
    else send(response, end.code ?? 200, end.result);
  }

  private endOf({ body, canceled, questions }: FalJob, origin: string): FalEnd | null {
    if (canceled) return CANCELED;
    if (questions < this.questionsToEnd) return null;
    if (body.includes(FAL_PROMPTS.underWay)) return null;
    if (body.includes(FAL_PROMPTS.failed)) return FAILED;
    if (body.includes(FAL_PROMPTS.expired)) return EXPIRED;
    if (this.end !== null) return this.end;
    const kind = body.includes('"seconds_total"') ? 'audio' : 'video';
    const file = { url: `${origin}/files/${kind === 'audio' ? 'song.mp3' : 'video.mp4'}` };
    return { result: { [kind]: file, images: [file] }, headers: { 'x-fal-billable-units': '1.25' } };
  }
}

function send(response: ServerResponse, status: number, document: object | string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(typeof document === 'string' ? document : JSON.stringify(document));
}

/** Mappings of models that the stand-in plays. */
export const FAL_JOB_MAPPINGS = {
  video: { map: { prompt: 'prompt', resolution: 'resolution' }, output: { video: '$.video.url' } },
  music: { map: { prompt: 'prompt', duration_seconds: 'seconds_total' }, output: { audio: '$.audio.url' } },
} as const satisfies Readonly<Record<'video' | 'music', RequestMapping>>;
