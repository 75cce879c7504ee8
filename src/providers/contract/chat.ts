import type { ChatEvent } from './chat-event';
import type { DeploymentTraits, ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/**
 * A chat-completion request that the endpoint has validated. Known fields have the document's types
 * (`ChatCompletionRequest` in `openapi/`); unknown ones pass through. `routing` and `x_*` are already removed.
 */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

/**
 * Fields that models without the feature `sampling` refuse. They are dropped, because many clients always send them.
 */
export const SAMPLING_FIELDS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'presence_penalty',
  'frequency_penalty',
]);

/**
 * Values of `service_tier` for which the catalogue's prices apply, as OpenAI, Groq and Anthropic name them. Other tiers
 * cost more or less.
 */
export const STANDARD_SERVICE_TIERS: ReadonlySet<unknown> = new Set(['auto', 'default', 'standard', 'standard_only']);

/** The reply object, shaped for our client: public model id, `logprobs` and `refusal` present, without `usage`. */
export interface ChatCompletionBody {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: unknown[];
  system_fingerprint: string | null;
  [field: string]: unknown;
}

export interface ChatCompletionResult {
  readonly body: ChatCompletionBody;
  /** `null` when the upstream reports none: the caller estimates. */
  readonly usage: UsageVector | null;
  /** UTF-8 bytes of generated text, reasoning and tool arguments: the basis of an estimate. */
  readonly outputBytes: number;
  /** The items of the answer; set by `ResponsesProvider.respond` only. */
  readonly items?: readonly ChatEvent[];
}

/** Where the pieces of a streamed answer go. */
export interface StreamSink<Piece = string | Buffer> {
  /** `false` signals back-pressure: await `drained()` before writing more. */
  write(piece: Piece): boolean;
  /**
   * Resolves when writing may continue, or when the receiver has disconnected. Rejects when the sink cannot continue;
   * the stream then fails with that error.
   */
  drained(): Promise<void>;
}

/** What the sink has received so far; read it after a failure or a disconnect. */
export interface StreamProgress {
  /** `id` and `created` of the chunks, for the usage chunk that the caller adds. */
  readonly id: string;
  readonly created: number;
  readonly outputBytes: number;
  /** The last usage the upstream reported. */
  readonly usage: UsageVector | null;
  readonly finishReason: string | null;
  /** Upstream events that could not be parsed and were skipped; absent where events are never skipped. */
  readonly skippedEvents?: number;
}

/** An answer that has started to arrive. The caller must pipe it. */
export interface StreamedAnswer<Piece> {
  readonly progress: StreamProgress;
  /**
   * Writes the whole answer. Resolves when the upstream's stream has ended with a finish reason.
   * @throws ProviderError `stream_interrupted` or `provider_disconnect` (phase `stream`).
   */
  pipe(sink: StreamSink<Piece>): Promise<void>;
}

/** A streamed answer as typed events; those that arrive together are one piece. */
export type ChatStream = StreamedAnswer<readonly ChatEvent[]>;

/**
 * A streamed answer as finished chunks of the client's format: complete `data: …\n\n` events, all but the usage chunk
 * and `[DONE]`, which the caller adds once the charge is committed.
 */
export type ChunkStream = StreamedAnswer<string | Buffer>;

/** Chat as a capability of a provider. Its methods throw `ProviderError` only. */
export interface ChatProvider {
  /**
   * Refuses features that the deployment is known to lack, as a call does before it sends anything. Absent: no check.
   * @throws ProviderError `validation_failed` (phase `connect`)
   */
  assertSupported?(request: ChatRequest, deployment: DeploymentTraits): void;
  complete(request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult>;
  /** Resolves once the first meaningful event has been read, so that an early failure still has an HTTP status. */
  openStream(request: ChatRequest, call: ProviderCall): Promise<ChatStream>;
  /**
   * The same answer as chat-completion chunks, for an upstream that writes them itself: passing its bytes through costs
   * a fraction of parsing and rendering them. Absent: the gateway renders the events of `openStream`.
   */
  openChunkStream?(request: ChatRequest, call: ProviderCall): Promise<ChunkStream>;
}

/** An item of a conversation in the format of the Responses API, with the fields that the API document lists. */
export interface InputItem {
  readonly type: 'message' | 'function_call' | 'custom_tool_call' | 'function_call_output' | 'custom_tool_call_output';
  readonly [field: string]: unknown;
}

/**
 * Chat over the Responses API. The additional methods serve clients that use this API themselves: the upstream gets the
 * client's conversation as `input` instead of the request's messages, which have the same content, and the answer has
 * item events.
 */
export interface ResponsesProvider extends ChatProvider {
  respond(request: ChatRequest, input: readonly InputItem[], call: ProviderCall): Promise<ChatCompletionResult>;
  openItemStream(request: ChatRequest, input: readonly InputItem[], call: ProviderCall): Promise<ChatStream>;
}
