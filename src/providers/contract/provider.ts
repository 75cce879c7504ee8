import type { ProviderEnvironment } from '../../core/config/provider-environment';
import type { ChatProvider, ResponsesProvider } from './chat';
import type { CompletionsProvider } from './completions';
import type { EmbeddingsProvider } from './embeddings';
import type { ImagesProvider } from './images';
import type { JobAdapter } from './media-job';
import type { Quirks } from './provider-call';
import type { SpeechProvider } from './speech';
import type { TranscriptionProvider } from './transcription';

/**
 * What a provider can serve. Exhaustive on purpose: adding a capability does not compile until every provider declares
 * it.
 */
export interface ProviderCapabilities {
  readonly chat: boolean;
  readonly completions: boolean;
  readonly embeddings: boolean;
  readonly images: boolean;
  readonly speech: boolean;
  readonly transcription: boolean;
  readonly video: boolean;
  readonly music: boolean;
}

/** A base for providers with few capabilities. */
export const NO_CAPABILITIES: ProviderCapabilities = Object.freeze({
  chat: false,
  completions: false,
  embeddings: false,
  images: false,
  speech: false,
  transcription: false,
  video: false,
  music: false,
});

/** A configured provider. Each capability is an optional member, which must agree with `capabilities`. */
export interface Provider {
  readonly id: string;
  readonly capabilities: ProviderCapabilities;
  readonly quirks: Quirks;
  readonly chat?: ChatProvider;
  /** Chat over the Responses API, for deployments of the dialect `openai-responses`. Requires `chat`. */
  readonly responses?: ResponsesProvider;
  readonly completions?: CompletionsProvider;
  readonly embeddings?: EmbeddingsProvider;
  readonly images?: ImagesProvider;
  readonly speech?: SpeechProvider;
  readonly transcription?: TranscriptionProvider;
  readonly video?: JobAdapter;
  readonly music?: JobAdapter;
  /** The provider fails only when a request scripts it, so routing ignores its failures. */
  readonly simulated?: boolean;
  /** Refuses new calls and resolves when calls in flight have ended. Absent: there is nothing to wait for. */
  drain?(): Promise<void>;
  /** Ends all connections, calls in flight included. May be called during `drain`. */
  close(): Promise<void>;
}

/** One vendor, implemented by a class that is marked `@ModelProvider()`. */
export interface ProviderDefinition {
  readonly id: string;
  /** Names of the keys and base URLs that the provider reads. Operators may store them and change them at run time. */
  readonly credentials: readonly string[];
  /**
   * Opens no connection. Returns `null` when required settings are missing; its models are then not offered.
   * @throws Error when a value is invalid; its message names the variable, never the value
   */
  create(environment: ProviderEnvironment): Provider | null;
}
