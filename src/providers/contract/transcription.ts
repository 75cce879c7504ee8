import type { StreamSink } from './chat';
import type { ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/** A transcription request that the endpoint has validated. Nothing else of the client's form reaches a provider. */
export interface TranscriptionRequest {
  readonly audio: Buffer;
  /** Content type of the detected container, for example `audio/mpeg`. */
  readonly contentType: string;
  /**
   * A file name whose extension fits the container, since upstreams judge files by it. Never the client's file name.
   */
  readonly fileName: string;
  /** ISO 639-1, or `null`. */
  readonly language: string | null;
  readonly prompt: string | null;
  readonly temperature: number | null;
  /** Timestamps that the caller needs with the text; empty: the text alone. */
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
  /** As the upstream reports it; `null` when it does not. */
  readonly language: string | null;
  /** Segments and words are present if requested: a provider whose upstream returns none throws. */
  readonly segments: readonly TranscriptSegment[] | null;
  readonly words: readonly TranscriptWord[] | null;
  /** Tokens; `null` when the upstream reports none. */
  readonly usage: UsageVector | null;
  /** Seconds of audio that the upstream reports; `null` when it does not. */
  readonly reportedSeconds: number | null;
}

export interface TranscriptStreamProgress {
  readonly outputBytes: number;
  readonly text: string;
  readonly usage: UsageVector | null;
  /** Seconds of audio that the upstream reports; `null` until it does. */
  readonly reportedSeconds: number | null;
}

/** A transcript that streams as it is made. The caller must pipe it. */
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
  /** Present if the provider supports streaming. */
  openStream?(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream>;
}
