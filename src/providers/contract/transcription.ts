import type { StreamSink } from './chat';
import type { ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/** Audio to be written down, as the edge has validated it. Nothing else of the client's form reaches a provider. */
export interface TranscriptionRequest {
  readonly audio: Buffer;
  /** Of the container that was found in the bytes, for example `audio/mpeg`. */
  readonly contentType: string;
  /** A name whose extension fits the container: upstreams judge files by it. Never the client's own. */
  readonly fileName: string;
  /** ISO 639-1, or `null`. */
  readonly language: string | null;
  readonly prompt: string | null;
  readonly temperature: number | null;
  /** What the caller needs of the transcript besides its text; empty: the text alone. */
  readonly timestamps: readonly ('segment' | 'word')[];
}

export interface TranscriptSegment {
  readonly id: number;
  readonly seek: number;
  /** Seconds from the beginning. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly avg_logprob: number;
  readonly compression_ratio: number;
  readonly no_speech_prob: number;
}

export interface TranscriptWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

export interface Transcript {
  readonly text: string;
  /** As the upstream names it; `null` when it does not. */
  readonly language: string | null;
  /** These two are there where the request asks for them: a provider that has not been told any throws. */
  readonly segments: readonly TranscriptSegment[] | null;
  readonly words: readonly TranscriptWord[] | null;
  /** `null` when the upstream did not report any. Seconds are the edge's to count, from the file. */
  readonly usage: UsageVector | null;
}

export interface TranscriptStreamProgress {
  readonly outputBytes: number;
  readonly text: string;
  readonly usage: UsageVector | null;
}

/** A transcript that is written while it is being made. Whoever opens one must pipe it. */
export interface TranscriptStream {
  readonly progress: TranscriptStreamProgress;
  /**
   * Writes `transcript.text.delta` events. The caller adds `transcript.text.done` once the charge is committed.
   * @throws ProviderError (phase `stream`) when it breaks off.
   */
  pipe(sink: StreamSink): Promise<void>;
}

/** Transcription as a capability of a provider. Throws `ProviderError` only. */
export interface TranscriptionProvider {
  transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript>;
  /** Optional: its presence tells that the provider can. */
  openStream?(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream>;
}
