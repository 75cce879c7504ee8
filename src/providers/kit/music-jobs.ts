/** Shared by the adapters of vendors that compose music within one request. */
import type { JobCapabilities, JobSnapshot, JobSpec, MusicSpec } from '../contract/media-job';
import { ProviderError } from '../contract/provider-error';
import type { UsageVector } from '../contract/usage';
import { decodeBase64 } from './json';
import { unsupported } from './unsupported';
import { asRefusal } from './video-jobs';

/**
 * The reply itself is the piece of music: a lost reply cannot be fetched, and composing the piece again costs again.
 */
export const WITHIN_ONE_REQUEST: JobCapabilities = {
  cancel: 'never',
  progress: false,
  idempotentSubmit: false,
  outputTtlSeconds: 3_600,
  pollMs: [1_000, 1_000],
};

export type ComposedMusic = Extract<JobSnapshot, { readonly state: 'succeeded' }>;

/** @throws ProviderError for video, which the provider does not claim */
export function asMusic(spec: JobSpec): MusicSpec {
  if (spec.kind === 'music') return spec;
  throw unsupported('model');
}

/** For vendors whose pieces are MP3 files of one sample rate. @throws ProviderError `validation_failed` with `param` */
export function assertPlainMp3({ format, sampleRate }: MusicSpec): void {
  if (format !== null && format !== 'mp3') throw unsupported('format');
  if (sampleRate !== null) throw unsupported('sample_rate');
}

/** Throws the error as {@link asRefusal} maps it, for vendors whose single request is the whole job. */
export function refusal(error: unknown): never {
  throw error instanceof ProviderError ? asRefusal(error) : error;
}

/** @param usage `null`: the seconds of the piece are counted */
export function composed(bytes: Buffer, usage: UsageVector | null): ComposedMusic {
  return { state: 'succeeded', outputs: [{ type: 'audio', url: null, bytes }], usage };
}

/** @throws ProviderError unless the text is a file in base64 */
export function pieceOfBase64(text: unknown): Buffer {
  const bytes = typeof text === 'string' && text !== '' ? decodeBase64(text) : null;
  if (bytes !== null) return bytes;
  throw notMusic();
}

/** The reply contains no music, although the vendor may have composed and billed a piece. */
export function notMusic(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not music.', {
    phase: 'first_token',
    fallback: false,
    outcomeUnknown: true,
  });
}
