import type { ChatCompletionBody, ChatProvider, ChatRequest, ChunkStream } from '../../providers/contract/chat';
import type { ChatEvent, ChatStart, TokenLogprob } from '../../providers/contract/chat-event';
import {
  type CompletionBody,
  type CompletionFinishReason,
  type CompletionRequest,
  type CompletionResult,
  type CompletionsProvider,
  toCompletionFinish,
} from '../../providers/contract/completions';
import type { DeploymentTraits, ProviderCall } from '../../providers/contract/provider-call';
import { ProviderError } from '../../providers/contract/provider-error';
import { type EventRenderer, RenderedStream } from '../chat-chunks';

/** Text completion over a chat-only model: the prompt is the user message, the reply is the completion. */
export class CompletionsOverChat implements CompletionsProvider {
  constructor(private readonly chat: ChatProvider) {}

  assertSupported(request: CompletionRequest, deployment: DeploymentTraits): void {
    const chat = toChatRequest(request);
    this.chat.assertSupported?.(chat, deployment);
  }

  async complete(request: CompletionRequest, call: ProviderCall): Promise<CompletionResult> {
    const { body, usage, outputBytes } = await this.chat.complete(toChatRequest(request), call);
    return { body: fromChatReply(body, request), usage, outputBytes };
  }

  async openStream(request: CompletionRequest, call: ProviderCall): Promise<ChunkStream> {
    const stream = await this.chat.openStream(toChatRequest(request), call);
    return new RenderedStream(stream, completionChunks(request, call.publicModel));
  }
}

/** Completions-only fields, and chat fields whose result a completion cannot represent. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'prompt',
  'echo',
  'suffix',
  'logprobs',
  'best_of',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'modalities',
  'audio',
]);

/**
 * Converts a completion to a chat with one message.
 * @throws ProviderError `validation_failed` with `param` for fields that chat does not support, before sending
 */
export function toChatRequest(request: CompletionRequest): ChatRequest {
  const { prompt, suffix, echo, logprobs, max_tokens: maxTokens } = request;
  if (suffix != null && suffix !== '') throw unsupported('suffix', 'suffix');
  if (maxTokens === 0) throw unsupported('max_tokens', 'max_tokens 0');
  if (echo === true && logprobs != null) throw unsupported('logprobs', 'logprobs of the prompt');
  const fields = Object.fromEntries(Object.entries(request).filter(([field]) => !LEFT_OUT.has(field)));
  return {
    ...fields,
    model: request.model,
    messages: [{ role: 'user', content: prompt }],
    ...(logprobs != null && { logprobs: true, top_logprobs: logprobs }),
  };
}

function unsupported(param: string, what: string): ProviderError {
  const message = `This model only supports chat, which has no ${what}.`;
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}

/** The parts of a chat choice that a completion has. */
interface ChatChoice {
  readonly message: { readonly content?: string | null; readonly refusal?: string | null };
  readonly logprobs?: unknown;
  readonly finish_reason: string;
}

/** Converts a chat response to a completion. */
function fromChatReply(body: ChatCompletionBody, request: CompletionRequest): CompletionBody {
  const { message, logprobs, finish_reason: reason } = body.choices[0] as ChatChoice;
  const text = (message.content ?? '') + (message.refusal ?? '');
  return {
    id: toCompletionId(body.id),
    object: 'text_completion',
    created: body.created,
    model: body.model,
    choices: [
      {
        text: request.echo === true ? request.prompt + text : text,
        index: 0,
        logprobs: toCompletionLogprobs(logprobs, 0),
        finish_reason: toCompletionFinish(reason),
      },
    ],
    ...(body.system_fingerprint !== null && { system_fingerprint: body.system_fingerprint }),
  };
}

/** Renders the completion chunks of one chat stream, with the prompt echo in the first one. */
function completionChunks({ echo, prompt }: CompletionRequest, model: string): EventRenderer {
  let head = '';
  let pendingEcho = echo === true ? prompt : '';
  let offset = 0;
  const chunk = (
    written: string,
    logprobs: readonly TokenLogprob[] = [],
    finishReason: CompletionFinishReason | null = null,
  ): string => {
    const text = pendingEcho + written;
    pendingEcho = '';
    const lists = toCompletionLogprobs({ content: logprobs }, offset);
    offset += text.length;
    return `${head}${JSON.stringify([{ text, index: 0, logprobs: lists, finish_reason: finishReason }])}}\n\n`;
  };
  const render = (event: ChatEvent): string => {
    switch (event.type) {
      case 'start':
        head = headOf(event, model);
        return pendingEcho === '' ? '' : chunk('');
      case 'text':
      case 'refusal':
        return event.text === '' && event.logprobs === undefined ? '' : chunk(event.text, event.logprobs);
      case 'finish':
        return chunk('', [], toCompletionFinish(event.reason));
      // Reasoning and tool calls have no equivalent.
      default:
        return '';
    }
  };
  return (events) => events.map(render).join('');
}

/** The JSON of a chunk up to its choices. */
function headOf({ id, created, fingerprint }: ChatStart, model: string): string {
  const fields = {
    id: toCompletionId(id),
    object: 'text_completion',
    created,
    model,
    system_fingerprint: fingerprint,
  };
  return `data: ${JSON.stringify(fields).slice(0, -1)},"choices":`;
}

/** Log probabilities in the completions format: parallel lists. */
export interface CompletionLogprobs {
  readonly tokens: string[];
  readonly token_logprobs: number[];
  /** `null` when no alternatives were requested. */
  readonly top_logprobs: Record<string, number>[] | null;
  /** Start of each token in the text of the complete response, in UTF-16 code units. */
  readonly text_offset: number[];
}

interface RatedToken {
  readonly token: string;
  readonly logprob: number;
}

interface ChosenToken extends RatedToken {
  readonly top_logprobs?: unknown;
}

/**
 * Converts from the chat format, which has one object per token.
 * @param startOffset where the text of these tokens starts in the complete response
 */
function toCompletionLogprobs(logprobs: unknown, startOffset: number): CompletionLogprobs | null {
  const { content } = (logprobs ?? {}) as { readonly content?: unknown };
  const tokens = ratedTokens<ChosenToken>(content);
  if (tokens.length === 0) return null;
  const alternatives = tokens.map(({ top_logprobs: top }) => ratedTokens(top));
  let offset = startOffset;
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: alternatives.some(({ length }) => length > 0) ? alternatives.map(toRecord) : null,
    text_offset: tokens.map(({ token }) => {
      const start = offset;
      offset += token.length;
      return start;
    }),
  };
}

/** The well-formed tokens of a list. Upstreams also send `null` instead of an empty list. */
function ratedTokens<Token extends RatedToken>(list: unknown): readonly Token[] {
  if (!Array.isArray(list)) return [];
  return list.filter((each): each is Token => typeof each?.token === 'string' && typeof each.logprob === 'number');
}

function toRecord(tokens: readonly RatedToken[]): Record<string, number> {
  return Object.fromEntries(tokens.map(({ token, logprob }) => [token, logprob]));
}

/** The completion id for the id of a chat or completion response. */
export function toCompletionId(id: string): string {
  return id.startsWith('chatcmpl-') ? id.slice('chat'.length) : id;
}
