/** Switches for upstreams that speak a dialect with an accent. Set by a vendor preset, refined per deployment in the catalogue. */
export interface Quirks {
  /** Which field carries the output limit. Default: as the client sent it. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** `include_usage` asks for the usage chunk; `none` for upstreams that refuse `stream_options`. */
  readonly streamUsage?: 'include_usage' | 'none';
  /** Keep the `developer` role; otherwise it becomes `system`. */
  readonly developerRole?: boolean;
  /** Ask OpenAI not to pad stream chunks. */
  readonly includeObfuscation?: boolean;
  /** Replay `reasoning_content` of earlier assistant turns; otherwise it is stripped. */
  readonly reasoningReplay?: boolean;
  /** `completion_tokens` leaves out reasoning tokens (xAI). */
  readonly reasoningExcluded?: boolean;
  /** The upstream may say `stop` although it called tools (OpenAI with forced tools); keep its word. */
  readonly trustFinishReason?: boolean;
  /** Embeddings as numbers only; otherwise they are asked for in base64, which is half as long and quicker to read. */
  readonly plainEmbeddings?: boolean;
  /**
   * For upstreams that may stand in the operator's network: image addresses of messages reach them once their hosts have
   * been found public (`check`), or not at all, but what the gateway has fetched from there (`inline`). Default: as sent.
   */
  readonly imageAddresses?: 'check' | 'inline';
  /** Images that it makes in one call; default: as many as are asked for. */
  readonly imagesPerCall?: number;
  /** It can answer with addresses of images instead of the images. */
  readonly imageUrls?: boolean;
  /** What it calls images that come as they are, default `b64_json`; `none`: it sends nothing else, and refuses the field. */
  readonly imageResponseFormat?: 'b64_json' | 'base64' | 'none';
  /** Request fields that are dropped because they cannot change the meaning. */
  readonly dropFields?: readonly string[];
  /** Request fields that are refused with 400 because dropping them would change the meaning. */
  readonly rejectFields?: readonly string[];
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
  /** `false`: the model refuses temperature and its kin. */
  readonly sampling?: boolean;
  readonly streaming?: boolean;
  /** The model continues text by itself; otherwise a completion is asked for as a chat. */
  readonly completions?: boolean;
  /** The length of its vectors can be chosen. */
  readonly dimensions?: boolean;
  /** Images can be made from others. */
  readonly edit?: boolean;
  readonly mask?: boolean;
  /** Speech: it can be told how to speak, and how fast. */
  readonly instructions?: boolean;
  readonly speed?: boolean;
  /** Transcription: what it can tell the times of. */
  readonly timestamps?: readonly ('segment' | 'word')[];
  readonly [feature: string]: unknown;
}

/** Time limits of one attempt, in milliseconds. */
export interface CallDeadlines {
  readonly connectMs: number;
  /** From sending the request to the first meaningful event, or to the whole reply when not streaming. */
  readonly firstTokenMs: number;
  /** Longest silence between two events of a stream; comment lines count as life. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** One attempt at one deployment. */
export interface ProviderCall {
  readonly requestId: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** The id the client used; replies carry it. */
  readonly publicModel: string;
  readonly upstreamModel: string;
  readonly features: ModelFeatures;
  readonly quirks: Quirks;
  readonly deadlines: CallDeadlines;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What the catalogue says of a deployment, of which a call knows too. */
export type DeploymentTraits = Pick<ProviderCall, 'features' | 'quirks'>;
