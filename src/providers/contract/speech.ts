import type { StreamSink } from './chat';
import type { ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

export type SpeechFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** A text to be spoken, as the edge has validated it. Nothing else of the client's body reaches a provider. */
export interface SpeechRequest {
  readonly input: string;
  readonly voice: string;
  readonly format: SpeechFormat;
  /** 0.25 to 4; `null`: the model's own pace. */
  readonly speed: number | null;
  /** How to speak, for models that can be told. */
  readonly instructions: string | null;
}

/** What has been handed to the sink so far. */
export interface SpeechProgress {
  readonly audioBytes: number;
  /** `null` unless the upstream reports it. */
  readonly usage: UsageVector | null;
}

/** Audio that has begun to arrive. Whoever opens one must pipe it. */
export interface SpeechStream {
  readonly progress: SpeechProgress;
  /**
   * Writes the audio as it arrives. Resolves at the upstream's proper end.
   * @throws ProviderError (phase `stream`) when it breaks off.
   */
  pipe(sink: StreamSink): Promise<void>;
}

/** Speech as a capability of a provider. Throws `ProviderError` only. */
export interface SpeechProvider {
  /** Resolves once the first bytes have arrived, so that an early failure still has an HTTP status. */
  speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream>;
}
