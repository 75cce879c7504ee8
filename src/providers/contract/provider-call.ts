import type { Readable } from 'node:stream';
import type { RequestMapping } from './request-mapping';
import type { ReasoningVault } from './reasoning-vault';

/**
 * Switches for upstreams that deviate from a dialect. Set by a vendor preset, refined per deployment in the catalogue.
 */
export interface Quirks {
  /** The field for the output limit. Default: the one that the client sent. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** `include_usage` asks for the usage chunk; `none` for upstreams that refuse `stream_options`. */
  readonly streamUsage?: 'include_usage' | 'none';
  /** The upstream only streams, so whole replies are read from a stream; for `openai-chat`. */
  readonly streamOnly?: boolean;
  /** Above this output limit in tokens, the upstream only streams; for `openai-chat`. */
  readonly streamAbove?: number;
  /** Keep the `developer` role; otherwise it becomes `system`. */
  readonly developerRole?: boolean;
  /** Ask OpenAI not to pad stream chunks. */
  readonly includeObfuscation?: boolean;
  /**
   * Send the `reasoning_content` of earlier answers, from the client or else from the vault, because the upstream
   * requires it with the results of tool calls. Otherwise it is stripped.
   */
  readonly reasoningReplay?: boolean;
  /** The upstream's name for the `reasoning_content` of earlier answers. */
  readonly reasoningField?: 'reasoning';
  /** The upstream exchanges reasoning as `reasoning_details`, and separates it from the text on request (MiniMax). */
  readonly reasoningDetails?: boolean;
  /** The upstream writes reasoning at the beginning of the text, in elements with this name. */
  readonly reasoningTag?: 'think' | 'reasoning';
  /** The upstream takes and returns a chat's log probabilities in OpenAI's older format (Together). */
  readonly logprobLists?: boolean;
  /**
   * Ask for summaries of the model's reasoning, which OpenAI refuses to unverified organizations. For the Responses
   * API; default: none.
   */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed';
  /** `completion_tokens` excludes reasoning tokens (xAI). */
  readonly reasoningExcluded?: boolean;
  /** The upstream may report `stop` although it called tools (OpenAI with forced tools); keep it. */
  readonly trustFinishReason?: boolean;
  /** Request embeddings as numbers; otherwise as base64, which is half as long and faster to parse. */
  readonly plainEmbeddings?: boolean;
  /** The upstream sends embeddings only as base64 of signed bytes (Perplexity). Clients get the values, -128 to 127. */
  readonly int8Embeddings?: boolean;
  /** The upstream's limit for one embeddings call; longer lists are split. Default: as much as a client may send. */
  readonly embeddingBatch?: EmbeddingBatch;
  /**
   * For upstreams that may run in the operator's network: image URLs in messages are passed on only if their hosts are
   * public (`check`), or replaced by the image that the gateway fetches (`inline`). Default: as sent.
   */
  readonly inputImageUrls?: 'check' | 'inline';
  /** `false`: the upstream refuses ids of tool calls and matches results by name and order. */
  readonly toolCallIds?: boolean;
  /** Images per call; default: as many as requested. */
  readonly imagesPerCall?: number;
  /** Whether the upstream can return image URLs. Default: yes, unless `imageResponseFormat` is `none`. */
  readonly imageUrls?: boolean;
  /**
   * The upstream's name for base64 images, default `b64_json`; `none`: it has no other format and refuses the field.
   */
  readonly imageResponseFormat?: 'b64_json' | 'base64' | 'none';
  /** How the upstream takes the size of an image; default: as `size`. */
  readonly imageSize?: 'width_height' | 'aspect_ratio';
  /** How the upstream takes input images; default: as files in a form; `none`: not at all. */
  readonly imageEdits?: 'json' | 'none';
  /** The upstream writes prompts to its cache unasked, and the cache writes cost the catalogue's price. */
  readonly implicitCacheWrites?: boolean;
  /**
   * The upstream takes OpenAI's image options, from `output_format` to `input_fidelity`; default: clients cannot
   * choose.
   */
  readonly imageOutput?: boolean;
  /**
   * The upstream takes black-and-white masks and edits the area of this color; default: it edits the transparent area.
   */
  readonly maskColor?: 'black' | 'white';
  /** The version of the upstream's API, if calls name one; the catalogue's `api_version`. */
  readonly apiVersion?: string;
  /** Request fields that are dropped, because dropping them cannot change the meaning. */
  readonly dropFields?: readonly string[];
  /** Request fields that are refused with 400 because dropping them would change the meaning. */
  readonly rejectFields?: readonly string[];
  /**
   * The only optional request fields that the upstream accepts. It refuses requests with any other field, so others are
   * dropped.
   */
  readonly acceptFields?: readonly string[];
  /** The upstream's names for request fields, keyed by OpenAI's names. */
  readonly fieldNames?: Readonly<Record<string, string>>;
  /** Fields of messages that the upstream refuses; dropped. */
  readonly dropMessageFields?: readonly string[];
  /**
   * The only message fields that the upstream accepts: it refuses messages with other fields, and unknown members of
   * parts, tool calls and tools. All of these are dropped.
   */
  readonly acceptMessageFields?: readonly string[];
  /** The upstream refuses functions without `parameters`, which OpenAI takes as functions without arguments. */
  readonly toolParameters?: 'required';
  /** The upstream takes the content of a message only as a string, so lists of texts are joined. */
  readonly joinTextParts?: boolean;
  /**
   * The upstream takes one system message, at the start: leading ones are joined, later ones become marked user
   * messages.
   */
  readonly oneSystemMessage?: boolean;
  /**
   * The upstream refuses user messages after tool results, system messages after tool results or answers, and a final
   * answer without `prefix` (Mistral).
   */
  readonly strictRoles?: boolean;
  /** The upstream accepts only tool-call ids of nine letters and digits; other ids are replaced by a digest. */
  readonly shortToolCallIds?: boolean;
  /**
   * The nearest supported effort for each effort that the upstream lacks. Efforts that the catalogue lists for a model
   * are sent unchanged.
   */
  readonly reasoningEfforts?: Readonly<Record<string, string>>;
  /** The API refuses the efforts in `reasoningEfforts` for every model, even where the catalogue lists them. */
  readonly fixedEfforts?: boolean;
  /** The upstream has no effort `none`: `reasoning: { enabled: false }` turns reasoning off (Together). */
  readonly reasoningSwitch?: boolean;
  /** Lower temperatures are raised to this one: the upstream refuses zero, which many clients send. */
  readonly minTemperature?: number;
  /** `false`: the upstream refuses forced tool calls while it reasons, which it does unless `thinking` is disabled. */
  readonly forcedTools?: boolean;
  /**
   * The upstream takes only the words `none`, `auto` and `required` as tool choices. A choice that names tools is sent
   * as a word, and the request then offers only those tools.
   */
  readonly toolChoiceWords?: boolean;
  /** `false`: the upstream has JSON mode but refuses JSON schemas. */
  readonly jsonSchemas?: boolean;
  /** The upstream takes `response_format` as in a chat instead of `text.format`; for the Responses API (Perplexity). */
  readonly chatResponseFormat?: boolean;
  /** The upstream's 429 `insufficient_quota` means tokens per minute, not an account without credit (Alibaba). */
  readonly quotaIsRateLimit?: boolean;
  /** The upstream's 400 is a sentence without a code, and always about the request (Cohere). */
  readonly plainRefusals?: boolean;
  /** The upstream lists its sources next to the choices, as Sonar does; they become annotations of the message. */
  readonly citations?: boolean;
}

/** The limits of one embeddings call. */
export interface EmbeddingBatch {
  readonly inputs: number;
  /** Of all inputs together; default: no limit. */
  readonly tokens?: number;
}

/** What the model can do, from the catalogue. */
export interface ModelFeatures {
  readonly tools?: boolean;
  readonly parallel_tools?: boolean;
  readonly json_object?: boolean;
  readonly json_schema?: boolean;
  readonly vision?: boolean;
  readonly logprobs?: boolean;
  readonly reasoning?: readonly string[];
  /** Reasoning is limited by a number of tokens instead of an effort. */
  readonly thinking_budget?: boolean;
  /** `false`: a response format cannot be combined with tools. */
  readonly json_with_tools?: boolean;
  /** `false`: the model refuses temperature and similar parameters. */
  readonly sampling?: boolean;
  /**
   * How a model of the dialect `anthropic-messages` reasons: `always`, `default` (unless disabled), `between_tools` (by
   * default, and cannot be fully disabled), `optional` (on request), or `budget` (on request, with a token budget).
   */
  readonly thinking?: 'always' | 'default' | 'between_tools' | 'optional' | 'budget';
  /** `false`: the model refuses a `tool_choice` that forces a call. */
  readonly forced_tools?: boolean;
  /** The model takes system messages between other messages. */
  readonly system_mid?: boolean;
  /** `false`: the conversation must not end with an assistant message. */
  readonly prefill?: boolean;
  readonly streaming?: boolean;
  /** The model supports text completion; otherwise a completion is sent as a chat. */
  readonly completions?: boolean;
  /** The vector length is configurable. */
  readonly dimensions?: boolean;
  /** Supports image editing. */
  readonly edit?: boolean;
  readonly mask?: boolean;
  /** Only edits the masked area of an image. */
  readonly needs_mask?: boolean;
  /** Speech: supports `instructions`; `speed` likewise. */
  readonly instructions?: boolean;
  readonly speed?: boolean;
  /** Transcription: supported timestamp granularities. */
  readonly timestamps?: readonly ('segment' | 'word')[];
  readonly [feature: string]: unknown;
}

/** Time limits of one attempt, in milliseconds. */
export interface CallDeadlines {
  readonly connectMs: number;
  /** From sending the request to the first meaningful event, or to the whole reply when not streaming. */
  readonly firstTokenMs: number;
  /** Longest silence between two events of a stream; comment lines count as activity. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** The trace span of a call. */
export interface CallTrace {
  /**
   * Continues the trace at the provider, for its own hosts only; `undefined`: the trace must not reach the provider.
   */
  readonly traceparent: string | undefined;
  /** Records the server that is called. */
  noteServer(baseUrl: URL): void;
  /** Records the model that the upstream says has answered; ignored unless it is a valid name. */
  noteModel(name: unknown): void;
}

/** One attempt at one deployment. */
export interface ProviderCall {
  readonly requestId: string;
  /**
   * Opaque, and the same for all calls of one customer: resources that calls share in this process are divided fairly
   * between owners. Never sent upstream. All calls without an owner count as one owner.
   */
  readonly ownerId?: string;
  /** Absent: the request is not traced. */
  readonly trace?: CallTrace;
  /** Counts from 1. */
  readonly attempt: number;
  /** The id the client used; replies carry it. */
  readonly publicModel: string;
  readonly upstreamModel: string;
  readonly features: ModelFeatures;
  readonly quirks: Quirks;
  readonly deadlines: CallDeadlines;
  /** The model's output limit in tokens, if the catalogue states one. */
  readonly maxOutputTokens?: number;
  /** How the upstream names the fields of requests and results, if the catalogue says so for the deployment. */
  readonly mapping?: RequestMapping;
  /**
   * Where the upstream may report that this job has ended; a URL for this submission only. Absent: the upstream cannot
   * reach the gateway.
   */
  readonly callbackUrl?: string;
  /** The key that submitted the job of this call; absent: any. */
  readonly keyId?: string;
  /**
   * Opens a file at a public URL that the upstream returned, through the outbound guard. Absent: results cannot be
   * files.
   */
  readonly openFile?: (url: string) => Promise<Readable>;
  /** Opened on first use, since most calls need no vault. Absent: the call has no conversation. */
  readonly openVault?: () => ReasoningVault;
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal;
}

/**
 * The limits of one upstream exchange, whether it is the call itself or precedes it; calls add the quirks for reading a
 * refusal.
 */
export type CallLimits = Pick<ProviderCall, 'deadlines' | 'signal' | 'trace'> & Partial<Pick<ProviderCall, 'quirks'>>;

/** The catalogue's traits of a deployment, which every call also carries. */
export type DeploymentTraits = Pick<ProviderCall, 'features' | 'quirks'>;
