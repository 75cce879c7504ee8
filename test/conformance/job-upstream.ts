/** Plays vendors of jobs: their documents differ, the course of a job does not. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Answer, ReceivedRequest } from './fake-upstream';
import type { JobPrompts } from './subjects';

export type VendorState = 'queued' | 'running' | 'done' | 'failed' | 'moderated' | 'expired' | 'canceled' | 'strange';

export interface ReportedJob {
  readonly id: string;
  /** The gateway's. */
  readonly token: string;
  readonly state: VendorState;
  /** Address of the result; `null`: there is none. */
  readonly file: string | null;
}

/** The documents of one vendor, from its documentation. */
export interface JobVendor {
  /** Has a state for jobs that it gave up. */
  readonly expires: boolean;
  /** Cancels queued jobs only, so that a job under way is one of these. */
  readonly cancelsQueuedOnly?: boolean;
  /** Gives out files to holders of a key only. */
  readonly filesNeedKey?: boolean;
  /** Its reports do not refer to files. */
  readonly alwaysHasFile?: boolean;
  /** The body of a submission asks for music; absent: all are videos. */
  isMusic?(body: string): boolean;
  /** Does not know a job once it has canceled it. */
  readonly forgetsCanceled?: boolean;
  /** The id of the job that a request is about; `null`: it submits one. */
  jobOf(request: ReceivedRequest): string | null;
  /** The job that a request looks for by the gateway's token; such a request submits nothing. */
  tokenOf?(request: ReceivedRequest): string | null;
  /** The gateway's token in the body of a submission. */
  tokenIn?(body: string): string | undefined;
  /** Whether a request about a job cancels it; absent: every one but `GET` does. */
  cancels?(request: ReceivedRequest): boolean;
  /** @param origin of the vendor */
  accepted(id: string, origin: string): object;
  report(job: ReportedJob): object | string;
  /** Status and document for an unknown job. */
  readonly unknown: readonly [status: number, document: object];
  readonly limited: object;
  /** Status and document for a request that moderation refuses; absent: it always accepts. */
  readonly refused?: readonly [status: number, document: object];
}

/** Texts that the stand-in looks for in the body of a submission. */
export const VENDOR_PROMPTS = {
  done: '[[done]]',
  underWay: '[[under way]]',
  failed: '[[failed]]',
  expired: '[[expired]]',
  unreachable: '[[unreachable]]',
  answerLost: '[[answer lost]]',
  rateLimited: '[[rate limited]]',
  silent: '[[silent]]',
} as const satisfies JobPrompts;
export const FAULT_PROMPTS = {
  moderated: '[[moderated]]',
  refused: '[[refused]]',
  invalid: '[[invalid]]',
  unavailable: '[[unavailable]]',
  webPage: '[[web page]]',
  noId: '[[no id]]',
  strange: '[[strange]]',
  noFile: '[[no file]]',
  pollPage: '[[poll page]]',
  pollLimited: '[[poll limited]]',
} as const;

interface VendorJob {
  readonly token: string;
  readonly body: string;
  polls: number;
  isCanceled: boolean;
}

export const MP4 = readFileSync(join(__dirname, '../../src/providers/vendors/mock/fixtures/video-480x480.mp4'));
export const MP3 = readFileSync(join(__dirname, '../../src/providers/vendors/mock/fixtures/music-44100.mp3'));
const VIDEO_PATH = '/files/result.mp4';
const MUSIC_PATH = '/files/result.mp3';

/**
 * The answers of a vendor, with the jobs that it has accepted.
 * @param fileHost origin of the results; absent: the vendor's own
 */
export function playJobs(vendor: JobVendor, fileHost?: string): Answer {
  const jobs = new Map<string, VendorJob>();
  return (response, request) => {
    const at = `http://${request.headers.host}`;
    const path = request.url.split('?', 1)[0] ?? '';
    if (path === MUSIC_PATH) {
      response.setHeader('content-type', 'audio/mpeg').end(MP3);
      return;
    }
    if (path === VIDEO_PATH || path.endsWith('/content')) {
      const isRefused =
        vendor.filesNeedKey === true &&
        ![request.headers.authorization, request.headers['x-goog-api-key']].some(Boolean);
      if (isRefused) send(response, 401, {});
      else response.setHeader('content-type', 'video/mp4').end(MP4);
      return;
    }
    const token = vendor.tokenOf?.(request) ?? null;
    if (token !== null) {
      const [id] = [...jobs].find(([, job]) => job.token === token) ?? [];
      if (id === undefined) send(response, ...vendor.unknown);
      else send(response, 200, vendor.report({ id, token, state: 'queued', file: null }));
      return;
    }
    const id = vendor.jobOf(request);
    if (id === null) submit(vendor, jobs, request, response);
    else ask(vendor, jobs, { id, at: fileHost ?? at }, request, response);
  };
}

/**
 * The answers of a vendor whose reply is the piece of music, an MP3 file that `deliver` wraps in the vendor's document.
 */
export function playMusic(deliver: (response: ServerResponse, file: Buffer) => void): Answer {
  return (response, { body }) => {
    const says = (prompt: string) => body.includes(prompt);
    if (says(VENDOR_PROMPTS.underWay)) return;
    if (says(VENDOR_PROMPTS.failed)) send(response, 404, { error: 'no such model' });
    else if (says(VENDOR_PROMPTS.expired)) send(response, 504, { error: 'timeout' });
    else if (says(VENDOR_PROMPTS.rateLimited)) {
      response.setHeader('retry-after', '7');
      send(response, 429, { error: 'too many' });
    } else deliver(response, MP3);
  };
}

function submit(
  vendor: JobVendor,
  jobs: Map<string, VendorJob>,
  { body, headers }: ReceivedRequest,
  response: ServerResponse,
) {
  const says = (prompt: string) => body.includes(prompt);
  if (says(VENDOR_PROMPTS.silent)) return;
  if (says(VENDOR_PROMPTS.rateLimited)) {
    response.setHeader('retry-after', '7');
    send(response, 429, vendor.limited);
    return;
  }
  if (says(FAULT_PROMPTS.refused) && vendor.refused !== undefined) {
    send(response, ...vendor.refused);
    return;
  }
  if (says(FAULT_PROMPTS.invalid)) {
    send(response, 400, { error: 'the prompt is wrong' });
    return;
  }
  if (says(FAULT_PROMPTS.unavailable)) {
    send(response, 503, { error: 'overloaded' });
    return;
  }
  if (says(FAULT_PROMPTS.webPage)) {
    response.setHeader('content-type', 'text/html').end('<html></html>');
    return;
  }
  const id = `job-${jobs.size + 1}`;
  jobs.set(id, { token: vendor.tokenIn?.(body) ?? '', body, polls: 0, isCanceled: false });
  if (says(VENDOR_PROMPTS.answerLost)) response.destroy();
  else send(response, 200, says(FAULT_PROMPTS.noId) ? {} : vendor.accepted(id, `http://${headers.host}`));
}

function ask(
  vendor: JobVendor,
  jobs: Map<string, VendorJob>,
  { id, at }: { readonly id: string; readonly at: string },
  request: ReceivedRequest,
  response: ServerResponse,
) {
  const job = jobs.get(id);
  if (job === undefined) {
    send(response, ...vendor.unknown);
    return;
  }
  if (vendor.cancels?.(request) ?? request.method !== 'GET') {
    // An end is final.
    if (request.method === 'POST' && stateOf(vendor, job) === 'done') {
      send(response, 200, vendor.report({ id, token: job.token, state: 'done', file: null }));
      return;
    }
    job.isCanceled = true;
    if (vendor.forgetsCanceled === true) jobs.delete(id);
    const { token } = job;
    if (request.method === 'POST') send(response, 200, vendor.report({ id, token, state: 'canceled', file: null }));
    else response.writeHead(204).end();
    return;
  }
  job.polls += 1;
  if (job.body.includes(FAULT_PROMPTS.pollPage)) {
    response.setHeader('content-type', 'text/html').end('<html></html>');
    return;
  }
  if (job.body.includes(FAULT_PROMPTS.pollLimited)) {
    response.setHeader('retry-after', '7');
    send(response, 429, vendor.limited);
    return;
  }
  const { token, body } = job;
  const path = vendor.isMusic?.(body) === true ? MUSIC_PATH : VIDEO_PATH;
  const file = body.includes(FAULT_PROMPTS.noFile) ? null : at + path;
  const report = { id, token, state: stateOf(vendor, job), file };
  send(response, 200, vendor.report(report));
}

/** A job is queued at the first question and runs at the second. */
function stateOf({ cancelsQueuedOnly }: JobVendor, { body, polls, isCanceled }: VendorJob): VendorState {
  if (isCanceled) return 'canceled';
  if (body.includes(VENDOR_PROMPTS.underWay)) return cancelsQueuedOnly === true ? 'queued' : 'running';
  if (body.includes(FAULT_PROMPTS.strange)) return 'strange';
  if (polls === 1) return 'queued';
  if (polls === 2) return 'running';
  if (body.includes(VENDOR_PROMPTS.failed)) return 'failed';
  if (body.includes(VENDOR_PROMPTS.expired)) return 'expired';
  return body.includes(FAULT_PROMPTS.moderated) ? 'moderated' : 'done';
}

function send(response: ServerResponse, status: number, document: object | string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(typeof document === 'string' ? document : JSON.stringify(document));
}
