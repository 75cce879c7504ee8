import { ProviderError } from '../../../contract/provider-error';
import type { JobSpec, JobSnapshot, MusicSpec, VideoSpec } from '../../../contract/media-job';
import { NO_USAGE } from '../../../contract/usage';
import { deadlineFailure, mapInBandError } from '../../../kit/upstream-errors';
import { type AudioFormat, isMusicRate, makeAudio } from '../media/audio';
import { describeInputs } from '../media/picture';
import { makeVideo, type VideoOptions } from '../media/video';
import { hashText } from '../random';
import { readScript, type Script } from '../script';

/** The file to make, without the output number, which makes each output different. */
export type OutputOptions = ({ readonly kind: 'video' } & Omit<VideoOptions, 'seed'>) | MusicOptions;

interface MusicOptions {
  readonly kind: 'music';
  readonly prompt: string;
  readonly seconds: number;
  readonly format: AudioFormat;
  readonly sampleRate: number;
}

export interface JobSubmission {
  readonly id: string;
  readonly token: string;
  readonly script: Script;
  readonly output: OutputOptions;
}

/** An accepted job. Its state follows from this record and the time, except for a cancellation. */
export interface JobRecord extends JobSubmission {
  /** Milliseconds since the epoch, as all times here. */
  readonly acceptedAtMs: number;
}

export type JobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired';

const DEFAULT_QUEUED_MS = 500;
const DEFAULT_RUN_MS = 2_000;

/**
 * The job of a request, and its scripted faults.
 * @throws ProviderError `validation_failed` for unsupported options and invalid directives
 */
export function planJob(spec: JobSpec): Pick<JobSubmission, 'script' | 'output'> {
  const { script, text } = readScript(spec.prompt, 'prompt');
  return { script, output: spec.kind === 'video' ? videoOptions(spec, text.trim()) : musicOptions(spec, text.trim()) };
}

/** Its images appear in the video as words. */
function videoOptions(spec: VideoSpec, text: string): OutputOptions {
  const images = [spec.firstFrame, spec.lastFrame, ...spec.references].filter((image) => image !== null);
  return {
    kind: 'video',
    prompt: [text, ...describeInputs(images, null)].join(' '),
    seconds: spec.durationSeconds,
    resolution: spec.resolution,
    aspectRatio: spec.aspectRatio,
    audio: spec.audio,
  };
}

function musicOptions({ format, sampleRate, durationSeconds }: MusicSpec, prompt: string): OutputOptions {
  const known = MUSIC_FORMATS.find((each) => each === (format ?? 'mp3'));
  if (known === undefined) throw refused('format');
  if (!isMusicRate(sampleRate ?? DEFAULT_MUSIC_RATE)) throw refused('sample_rate');
  return {
    kind: 'music',
    prompt,
    seconds: durationSeconds,
    format: known,
    sampleRate: sampleRate ?? DEFAULT_MUSIC_RATE,
  };
}

const MUSIC_FORMATS = ['mp3', 'wav', 'flac'] as const;
const DEFAULT_MUSIC_RATE = 44_100;

/** The same file for the same options and number. */
export function makeOutput(options: OutputOptions, number: number): Promise<Buffer> {
  const seed = hashText(options.prompt) + number;
  return options.kind === 'video' ? makeVideo({ ...options, seed }) : makeAudio({ ...options, seed, transcript: '' });
}

function refused(param: string): ProviderError {
  return new ProviderError('validation_failed', 'The provider refused the request as invalid; see details.', {
    phase: 'headers',
    fallback: false,
    param,
    upstream: { status: 400 },
  });
}

function queuedMsOf({ queuedMs = DEFAULT_QUEUED_MS }: Script): number {
  return queuedMs;
}

export function runMsOf({ runMs = DEFAULT_RUN_MS }: Script): number {
  return runMs;
}

export function finishesAtMs({ acceptedAtMs, script }: JobRecord): number {
  return acceptedAtMs + queuedMsOf(script) + runMsOf(script);
}

export function stateAt(record: JobRecord, isCanceled: boolean, nowMs: number): JobState {
  if (isCanceled) return 'canceled';
  if (nowMs < record.acceptedAtMs + queuedMsOf(record.script)) return 'queued';
  if (nowMs < finishesAtMs(record)) return 'running';
  const { fail } = record.script;
  return fail === undefined ? 'succeeded' : fail === 'timeout' ? 'expired' : 'failed';
}

/** The result of a poll. */
export function snapshotOf(record: JobRecord, state: JobState, nowMs: number, hasProgress: boolean): JobSnapshot {
  switch (state) {
    case 'queued':
    case 'running':
      return { state, progress: hasProgress ? percentAt(record, nowMs) : null };
    case 'succeeded':
      return { state, outputs: outputsOf(record), usage: usageOf(record.script) };
    case 'failed':
    case 'canceled':
    case 'expired':
      return { state, error: errorOf(state, record.script) };
  }
}

function percentAt({ acceptedAtMs, script }: JobRecord, nowMs: number): number | null {
  if (script.noProgress === true) return null;
  const ranMs = Math.max(0, nowMs - acceptedAtMs - queuedMsOf(script));
  return Math.floor((100 * ranMs) / Math.max(1, runMsOf(script)));
}

function outputsOf({ id, output, script }: JobRecord) {
  const type = output.kind === 'video' ? ('video' as const) : ('audio' as const);
  return Array.from({ length: script.outputs ?? 1 }, (_, number) => ({ type, url: outputUrl(id, number) }));
}

/** Reported only if scripted: like most upstreams the mock does not count seconds. */
export function usageOf({ usageSeconds }: Script) {
  return usageSeconds === undefined ? null : { ...NO_USAGE, seconds: usageSeconds };
}

/** The reason for a missing result: an upstream error, mapped by the kit. */
export function errorOf(state: 'failed' | 'canceled' | 'expired', { fail }: Script): ProviderError {
  if (state === 'expired') return deadlineFailure('job');
  if (state === 'failed' && fail === 'content') {
    const refusal = { message: 'The prompt asked to be refused.', code: 'content_policy_violation' };
    return mapInBandError({ error: refusal }, 'job');
  }
  const message = state === 'canceled' ? 'The provider canceled the job.' : 'The provider could not finish the job.';
  return new ProviderError('provider_error', message, { phase: 'job', fallback: false });
}

const URL_FORM = /^mock-media:([^/]+)\/(\d)$/;

function outputUrl(id: string, number: number): string {
  return `mock-media:${encodeURIComponent(id)}/${number}`;
}

/** The output that a URL of this provider refers to; `null`: not such a URL. */
export function parseOutputUrl(url: string | null): { readonly id: string; readonly number: number } | null {
  const [, id, number] = URL_FORM.exec(url ?? '') ?? [];
  return id === undefined ? null : { id: decodeURIComponent(id), number: Number(number) };
}
