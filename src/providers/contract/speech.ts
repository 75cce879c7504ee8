import type { StreamSink } from './chat';
import type { ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

export type SpeechFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** A speech request that the endpoint has validated. Nothing else of the client's body reaches a provider. */
export interface SpeechRequest {
  readonly input: string;
  readonly voice: string;
  readonly format: SpeechFormat;
  /** 0.25 to 4; `null`: the model's default. */
  readonly speed: number | null;
  /** How to speak, for models that support it. */
  readonly instructions: string | null;
}

/** What the sink has received so far. */
export interface SpeechProgress {
  readonly audioBytes: number;
  /** `null` unless the upstream reports it. */
  readonly usage: UsageVector | null;
}

/** Audio that has started to arrive. The caller must pipe it. */
export interface SpeechStream {
  readonly progress: SpeechProgress;
  /**
   * Writes the audio as it arrives. Resolves when the upstream completes it.
   * @throws ProviderError (phase `stream`) when it breaks off.
   */
  pipe(sink: StreamSink): Promise<void>;
}

/** Speech as a capability of a provider. Throws `ProviderError` only. */
export interface SpeechProvider {
  /** Resolves once the first bytes have arrived, so that an early failure still has an HTTP status. */
  speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream>;
}
