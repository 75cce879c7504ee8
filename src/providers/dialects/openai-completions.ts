/**
 * Dialect `openai-completions`: `POST …/completions`, which base models and self-hosted servers still support. Its
 * streams are framed like chat streams and share their code; only the chunks differ.
 */
import { randomBytes } from 'node:crypto';
import type { ChunkStream } from '../contract/chat';
import {
  type CompletionRequest,
  type CompletionResult,
  type CompletionsProvider,
  toCompletionFinish,
} from '../contract/completions';
import type { DeploymentTraits, ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../kit/json';
import { mapInBandError } from '../kit/upstream-errors';
import type { UpstreamHttp } from '../kit/upstream-http';
import { type ChatStreamState, type EventTranslator, type StreamOutput, UpstreamStream } from '../kit/upstream-stream';
import { toUsageVector } from '../kit/usage';
import { failedGeneration, isFailedFinish, toCreated, toFinishReason, usageOf } from './openai-chat/chat-reply';
import { checkNoRejectedFields, forwardedFields } from './openai-chat/chat-request';
import { SingleChoice } from './openai-chat/single-choice';

const CHUNKS: StreamOutput<Buffer> = {
  translatorFor: (call, state) => new CompletionChunkTranslator(call, state),
  join: (frames) => Buffer.concat(frames),
};

export class OpenAiCompletions implements CompletionsProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('completions');
  }

  assertSupported(request: CompletionRequest, { quirks }: DeploymentTraits): void {
    checkNoRejectedFields(request, quirks);
  }

  async complete(request: CompletionRequest, call: ProviderCall): Promise<CompletionResult> {
    const body = JSON.stringify(toOpenAiCompletionRequest(request, call, false));
    return fromOpenAiCompletionReply(await this.http.post(this.endpoint, body, call), call);
  }

  async openStream(request: CompletionRequest, call: ProviderCall): Promise<ChunkStream> {
    const body = JSON.stringify(toOpenAiCompletionRequest(request, call, true));
    return UpstreamStream.openStream({ http: this.http, endpoint: this.endpoint, body, call }, CHUNKS);
  }
}

/** Fields that are set below, or not forwarded because the gateway offers only one choice. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'max_tokens',
  'n',
  'best_of',
  'stream',
  'stream_options',
]);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this upstream does not support
 */
export function toOpenAiCompletionRequest(
  request: CompletionRequest,
  { quirks, upstreamModel }: ProviderCall,
  stream: boolean,
): JsonObject {
  const { prompt, max_tokens } = request;
  return {
    model: upstreamModel,
    prompt,
    max_tokens,
    ...forwardedFields(request, HANDLED_FIELDS, quirks),
    ...(stream && { stream }),
    ...(stream && quirks.streamUsage !== 'none' && { stream_options: { include_usage: true } }),
  };
}

/**
 * Converts a whole reply to the gateway's shape and extracts its usage.
 * @throws ProviderError for an error inside a reply with status 200, or for anything but a completion
 */
export function fromOpenAiCompletionReply(reply: Buffer, call: ProviderCall): CompletionResult {
  const document = parseCompletion(reply);
  if (document['error'] != null) throw mapInBandError(document, 'first_token');
  const choice = firstChoice(document);
  if (choice === null || typeof choice['text'] !== 'string') throw notACompletion();
  if (isFailedFinish(choice['finish_reason'])) throw failedGeneration();
  call.trace?.noteModel(document['model']);
  const { text } = choice;
  const { system_fingerprint: fingerprint } = document;
  return {
    body: {
      id: toCompletionId(document['id']),
      object: 'text_completion',
      created: toCreated(document['created']),
      model: call.publicModel,
      choices: [
        {
          text,
          index: 0,
          logprobs: choice['logprobs'] ?? null,
          finish_reason: finishOf(String(choice['finish_reason'] ?? 'stop')),
        },
      ],
      ...(typeof fingerprint === 'string' && { system_fingerprint: fingerprint }),
    },
    usage: toUsageVector(usageOf(document), call.quirks),
    outputBytes: Buffer.byteLength(text),
  };
}

/** @throws ProviderError for anything but a JSON object */
function parseCompletion(json: Buffer): JsonObject {
  const document = parseJsonObject(json);
  if (document === null) throw notACompletion();
  return document;
}

function firstChoice({ choices }: JsonObject): JsonObject | null {
  const choice: unknown = Array.isArray(choices) ? choices[0] : null;
  return isJsonObject(choice) ? choice : null;
}

/** Maps vendor variants to the standard reasons of chats first. */
function finishOf(reason: string): ReturnType<typeof toCompletionFinish> {
  return toCompletionFinish(toFinishReason(reason, false, true));
}

function toCompletionId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : `cmpl-${randomBytes(15).toString('base64url')}`;
}

function notACompletion(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not a completion.', {
    phase: 'first_token',
    fallback: true,
  });
}

const DONE = Buffer.from('[DONE]');

/** Translates the events of a streamed completion into frames for the client, one at a time. */
class CompletionChunkTranslator implements EventTranslator<Buffer> {
  private readonly choice = new SingleChoice();

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {}

  translate(event: Buffer): Buffer | null {
    const { state } = this;
    if (state.done) return null;
    if (event.equals(DONE)) {
      state.done = true;
      return null;
    }
    const chunk = parseCompletion(event);
    if (chunk['error'] != null) throw mapInBandError(chunk, 'first_token');
    if (!state.started) this.call.trace?.noteModel(chunk['model']);
    this.readUsage(chunk);
    const choice = this.choice.in(chunk);
    // After the finish reason only usage matters.
    if (choice === null || state.finishReason !== null) return null;
    const frame = this.toChunk(chunk, choice);
    return frame === null ? null : Buffer.from(`data: ${JSON.stringify(frame)}\n\n`);
  }

  private readUsage(chunk: JsonObject): void {
    const { state } = this;
    const usage = toUsageVector(usageOf(chunk), this.call.quirks);
    if (usage === null) return;
    state.usage = usage;
    state.usageIsFinal = state.finishReason !== null;
  }

  private toChunk(chunk: JsonObject, choice: JsonObject): JsonObject | null {
    const { state } = this;
    const { text, finish_reason: reason, logprobs = null } = choice;
    if (isFailedFinish(reason)) throw failedGeneration();
    const isLast = typeof reason === 'string' && reason !== '';
    if (typeof text !== 'string' && !isLast) return null;
    if (!state.started) {
      state.started = true;
      state.id = toCompletionId(chunk['id']);
      state.created = toCreated(chunk['created']);
    }
    if (isLast) state.finishReason = finishOf(reason);
    const written = typeof text === 'string' ? text : '';
    state.generatedBytes += Buffer.byteLength(written);
    return {
      id: state.id,
      object: 'text_completion',
      created: state.created,
      model: this.call.publicModel,
      ...(typeof chunk['system_fingerprint'] === 'string' && { system_fingerprint: chunk['system_fingerprint'] }),
      choices: [{ text: written, index: 0, logprobs, finish_reason: state.finishReason }],
    };
  }
}
