import { Readable } from 'node:stream';
import type { JobSpec } from '../../contract/media-job';
import { type AudioOptions, makeAudio, makeVideo, MUSIC_RATES, type VideoOptions } from './media-files';
import { describeInputs } from './mock-images';
import { refused } from './scripted-call';
import { hashText } from './conversation';

/** The file that a job makes. */
export type OutputOptions = ({ readonly kind: 'video' } & VideoOptions) | AudioOptions;

const MUSIC_FORMATS = ['mp3', 'wav', 'flac'] as const;
const DEFAULT_MUSIC_RATE = 44_100;
const PIECE_BYTES = 65_536;
const URL_SCHEME = 'mock-media:';

/**
 * The output that a request describes. Input images appear in the title of a video.
 * @param text the prompt without directives
 * @throws ProviderError `validation_failed` for options that the mock lacks
 */
export function planOutput(spec: JobSpec, text: string): OutputOptions {
  const { durationSeconds: seconds } = spec;
  if (spec.kind === 'video') {
    const { resolution, aspectRatio, audio, firstFrame, lastFrame, references } = spec;
    const prompt = [text.trim(), ...describeInputs([firstFrame, lastFrame, ...references])].join(' ');
    return { kind: 'video', prompt, seconds, resolution, aspectRatio, audio, seed: hashText(prompt) };
  }
  const format = MUSIC_FORMATS.find((each) => each === (spec.format ?? 'mp3'));
  const sampleRate = spec.sampleRate ?? DEFAULT_MUSIC_RATE;
  if (format === undefined) throw refused('The mock does not make music in this format.', 'format');
  if (!MUSIC_RATES.includes(sampleRate)) throw refused('The mock does not make music at this rate.', 'sample_rate');
  return { kind: 'music', format, seconds, sampleRate, seed: hashText(text.trim()), transcript: '' };
}

/** The same file for the same options. */
export function makeOutput(options: OutputOptions): Promise<Buffer> {
  return options.kind === 'video' ? makeVideo(options) : makeAudio(options);
}

/** A file as a response body, in pieces. */
export function streamOf(bytes: Buffer): Readable {
  const starts = Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, (_, at) => at * PIECE_BYTES);
  return Readable.from(starts.map((at) => bytes.subarray(at, at + PIECE_BYTES)));
}

export function outputUrl(id: string): string {
  return URL_SCHEME + encodeURIComponent(id);
}

/** The job that a URL belongs to; `null`: not a URL of an output. */
export function jobIdOf(url: string | null): string | null {
  return url?.startsWith(URL_SCHEME) ? decodeURIComponent(url.slice(URL_SCHEME.length)) : null;
}
