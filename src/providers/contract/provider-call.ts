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
  /** It refuses to reply without streaming, so that whole replies are streams read to their end; for `openai-chat`. */
  readonly streamOnly?: boolean;
  /** It refuses to reply without streaming where the output limit is above this number of tokens; for `openai-chat`. */
  readonly streamAbove?: number;
  /** Keep the `developer` role; otherwise it becomes `system`. */
  readonly developerRole?: boolean;
  /** Ask OpenAI not to pad stream chunks. */
  readonly includeObfuscation?: boolean;
  /**
   * Send `reasoning_content` of earlier answers, the client's or else the vault's, which the upstream needs back with
   * the results of tool calls; otherwise it is stripped.
   */
  readonly reasoningReplay?: boolean;
  /** Exchanges reasoning as `reasoning_details`, and separates it from the text if asked to (MiniMax). */
  readonly reasoningDetails?: boolean;
  /** It writes reasoning at the beginning of the text, in elements of this name. */
  readonly reasoningTag?: 'think' | 'reasoning';
  /** Takes and returns log probabilities of a chat in OpenAI's older format (Together). */
  readonly logprobLists?: boolean;
  /**
   * Ask for summaries of the model's reasoning, which OpenAI refuses to organizations that it has not verified. For the
   * Responses API; default: none.
   */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed';
  /** `completion_tokens` leaves out reasoning tokens (xAI). */
  readonly reasoningExcluded?: boolean;
  /** The upstream may report `stop` although it called tools (OpenAI with forced tools); keep it. */
  readonly trustFinishReason?: boolean;
  /** Request embeddings as numbers; otherwise as base64, which is half as long and faster to parse. */
  readonly plainEmbeddings?: boolean;
  /** It sends embeddings as base64 of signed bytes only (Perplexity). Clients get their values, -128 to 127. */
  readonly int8Embeddings?: boolean;
  /** What it takes in one call of embeddings; longer lists are split. Default: all that a client may send. */
  readonly embeddingBatch?: EmbeddingBatch;
  /**
   * For upstreams that may run in the operator's network: image URLs in messages are passed on only if their hosts are
   * public (`check`), or replaced by the image that the gateway fetches (`inline`). Default: as sent.
   */
  readonly inputImageUrls?: 'check' | 'inline';
  /** `false`: it refuses ids of tool calls and matches results by name and order. */
  readonly toolCallIds?: boolean;
  /** Images per call; default: as many as requested. */
  readonly imagesPerCall?: number;
  /** Whether it can return image URLs instead of images. Default: yes, unless `imageResponseFormat` is `none`. */
  readonly imageUrls?: boolean;
  /** Its name for base64 images, default `b64_json`; `none`: it has no other format and refuses the field. */
  readonly imageResponseFormat?: 'b64_json' | 'base64' | 'none';
  /** How it takes the size of an image; default: as `size`. */
  readonly imageSize?: 'width_height' | 'aspect_ratio';
  /** How it takes input images; default: as files of a form. `none`: it does not. */
  readonly imageEdits?: 'json' | 'none';
  /** It writes prompts to its cache unasked, which costs the catalogue's price of a cache write. */
  readonly implicitCacheWrites?: boolean;
  /** It takes OpenAI's options of images, from `output_format` to `input_fidelity`; default: clients cannot choose. */
  readonly imageOutput?: boolean;
  /** It takes masks in black and white, of which it edits the area of this color; default: the transparent area. */
  readonly maskColor?: 'black' | 'white';
  /** The version of the upstream's API, where calls name one; the catalogue's `api_version`. */
  readonly apiVersion?: string;
  /** Request fields that are dropped because they cannot change the meaning. */
  readonly dropFields?: readonly string[];
  /** Request fields that are refused with 400 because dropping them would change the meaning. */
  readonly rejectFields?: readonly string[];
  /**
   * The only optional request fields that it accepts: it refuses a request with any other, so the others are dropped.
   */
  readonly acceptFields?: readonly string[];
  /** Its names for request fields, by OpenAI's names. */
  readonly fieldNames?: Readonly<Record<string, string>>;
  /** Fields of messages that it refuses; dropped. */
  readonly dropMessageFields?: readonly string[];
  /**
   * The only fields of messages that it accepts: it refuses a message with any other, and unknown members of parts,
   * tool calls and tools. All of these are dropped.
   */
  readonly acceptMessageFields?: readonly string[];
  /** It refuses functions without `parameters`, which OpenAI takes as functions without arguments. */
  readonly toolParameters?: 'required';
  /** It takes the content of a message as a string only, so a list of texts is joined. */
  readonly joinTextParts?: boolean;
  /** It takes one system message, at the beginning: leading ones are joined, later ones become marked user messages. */
  readonly oneSystemMessage?: boolean;
  /**
   * It refuses user messages behind tool results, system messages behind these or answers, and an answer at the end
   * without `prefix` (Mistral).
   */
  readonly strictRoles?: boolean;
  /** It accepts ids of tool calls of nine letters and digits only; other ids are replaced by a digest. */
  readonly shortToolCallIds?: boolean;
  /**
   * Efforts that it lacks, and the nearest that it has. The efforts that the catalogue lists for a model are sent as
   * is.
   */
  readonly reasoningEfforts?: Readonly<Record<string, string>>;
  /** Its API refuses the efforts in `reasoningEfforts` for every model, also where the catalogue lists them. */
  readonly fixedEfforts?: boolean;
  /** Lower temperatures are raised to it: it refuses zero, which many clients send. */
  readonly minTemperature?: number;
  /** `false`: it refuses to be forced to call a tool while it reasons, as it does unless `thinking` is disabled. */
  readonly forcedTools?: boolean;
  /** Of tool choices it takes the words only; a choice that names tools is sent as a word with those tools alone. */
  readonly toolChoiceWords?: boolean;
  /** `false`: of response formats it has JSON mode only, and refuses schemas. */
  readonly jsonSchemas?: boolean;
  /** Takes `response_format` as a chat has it, instead of `text.format`; for the Responses API (Perplexity). */
  readonly chatResponseFormat?: boolean;
  /** Its 429 `insufficient_quota` is a limit of tokens per minute, not an account without credit (Alibaba). */
  readonly quotaIsRateLimit?: boolean;
  /** Its 400 is a sentence without a code, and always about the request (Cohere). */
  readonly plainRefusals?: boolean;
  /** It lists its sources beside the choices, as hosts of Sonar do; they become annotations of the message. */
  readonly citations?: boolean;
}

/** The maximum of a call of embeddings. */
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
   * How a model of the dialect `anthropic-messages` reasons: `always`, `default` (unless turned off), `between_tools`
   * (by default, and never quite off), `optional` (when asked), or `budget` (when asked, with a budget of tokens).
   */
  readonly thinking?: 'always' | 'default' | 'between_tools' | 'optional' | 'budget';
  /** `false`: the model refuses a `tool_choice` that forces a call. */
  readonly forced_tools?: boolean;
  /** The model takes instructions between messages. */
  readonly system_mid?: boolean;
  /** `false`: the conversation must not end with a message of the assistant. */
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

/** The span of a call. */
export interface CallTrace {
  /** Continues the trace at the provider, for its own hosts only; `undefined`: the provider may not have it. */
  readonly traceparent: string | undefined;
  /** Names the server that is called. */
  noteServer(baseUrl: URL): void;
  /** Names the model that answered, as the upstream does; anything but a name is ignored. */
  noteModel(name: unknown): void;
}

/** One attempt at one deployment. */
export interface ProviderCall {
  readonly requestId: string;
  /**
   * Opaque, the same for all calls of one customer: what calls share in this process is divided between owners. Not for
   * the upstream. Calls without it count as those of one owner.
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
  /** The model's output limit in tokens, where the catalogue states one. */
  readonly maxOutputTokens?: number;
  /** How the upstream names the fields of requests and results, where the catalogue says so for the deployment. */
  readonly mapping?: RequestMapping;
  /**
   * Where the upstream may report that a job has ended, for this submission only; absent: it cannot reach the gateway.
   */
  readonly callbackUrl?: string;
  /** The key that submitted the job of this call; absent: any. */
  readonly keyId?: string;
  /**
   * Opens a file at a public address that the upstream named, through the guard for such hosts. Absent where results
   * cannot be files.
   */
  readonly openFile?: (url: string) => Promise<Readable>;
  /** Absent where a call has no conversation. Most calls do without. */
  readonly openVault?: () => ReasoningVault;
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal;
}

/** What bounds an upstream exchange, of a call or of what precedes it; calls add how to read its refusal. */
export type CallLimits = Pick<ProviderCall, 'deadlines' | 'signal' | 'trace'> & Partial<Pick<ProviderCall, 'quirks'>>;

/** The catalogue's description of a deployment, which every call carries too. */
export type DeploymentTraits = Pick<ProviderCall, 'features' | 'quirks'>;
