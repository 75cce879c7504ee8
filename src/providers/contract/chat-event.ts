import type { UsageVector } from './usage';

/**
 * One step of a streamed answer, in no vendor's format. `start` comes first. `finish` comes once, and only `usage` may
 * follow it. The other events come in the order in which the model writes.
 */
export type ChatEvent =
  | ChatStart
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'refusal'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'reasoning'; readonly text: string }
  | ToolCallStart
  | ToolCallInput
  | { readonly type: 'annotation'; readonly annotation: UrlCitation }
  | ItemEvent
  | { readonly type: 'finish'; readonly reason: FinishReason }
  /** Replaces earlier usage. */
  | { readonly type: 'usage'; readonly usage: UsageVector };

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/** The model has begun to answer: from here on there is no failover. */
export interface ChatStart {
  readonly type: 'start';
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly fingerprint?: string;
  readonly serviceTier?: string;
}

export interface ToolCallStart {
  readonly type: 'tool_call';
  /** Counts the calls of the answer from 0. */
  readonly index: number;
  readonly id: string;
  readonly kind: 'function' | 'custom';
  readonly name: string;
}

/** A piece of a call's JSON arguments, or of the input of a custom tool. Pieces of several calls may interleave. */
export interface ToolCallInput {
  readonly type: 'tool_input';
  readonly index: number;
  readonly text: string;
}

/**
 * Where the items of an answer begin and end, for upstreams whose answers consist of items. Only
 * `ResponsesProvider.respond` and `openItemStream` produce them. Text and sources belong to the last message and part
 * that began.
 */
export type ItemEvent =
  | {
      readonly type: 'message';
      /** What the vendor calls the step of the answer, such as `commentary`. */
      readonly phase?: string;
    }
  | { readonly type: 'part'; readonly kind: 'text' | 'refusal' }
  | { readonly type: 'message_end'; readonly complete: boolean }
  | { readonly type: 'tool_end'; readonly index: number; readonly complete: boolean };

/** A source of the answer, in the shape of `message.annotations` of a chat completion. */
export interface UrlCitation {
  readonly type: 'url_citation';
  readonly url_citation: {
    /** Start of the supported passage in the text of the answer, in UTF-16 units. */
    readonly start_index: number;
    /** Its end, exclusive. Equal to `start_index` when the upstream cites by number in the text. */
    readonly end_index: number;
    readonly url: string;
    /** The page's title, or its URL when the upstream gives no title. */
    readonly title: string;
    /**
     * The quoted passage of the source, if the upstream sends one. Named as in
     * https://openrouter.ai/docs/features/web-search.
     */
    readonly content?: string;
  };
}

/** Whether an annotation of a chat completion is a source. OpenRouter also sends annotations of files. */
export function isUrlCitation(annotation: unknown): annotation is UrlCitation {
  const { type, url_citation: citation } = (annotation ?? {}) as {
    readonly type?: unknown;
    readonly url_citation?: unknown;
  };
  if (type !== 'url_citation') return false;
  const { start_index: start, end_index: end, url, title } = (citation ?? {}) as Readonly<Record<string, unknown>>;
  return typeof start === 'number' && typeof end === 'number' && typeof url === 'string' && typeof title === 'string';
}

/** A token with its log probability. */
export interface AlternativeToken {
  readonly token: string;
  readonly logprob: number;
  /** UTF-8. */
  readonly bytes?: readonly number[] | null;
}

/** A token of the answer. */
export interface TokenLogprob extends AlternativeToken {
  /** Most likely first. */
  readonly top_logprobs?: readonly AlternativeToken[];
}
