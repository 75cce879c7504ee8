import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { GatewayError } from '../core/errors/gateway-error';
import type { Answer } from '../core/http/answer';
import { OutboundClient } from '../core/outbound/outbound-client';
import type { RequestContext } from '../core/types/request-context';
import type { ExplainedRequest } from '../inference/explanation.types';
import { providerFields, requireTarget } from '../inference/inference-target';
import { requiredAcceptance, requiredSupport } from '../inference/parameter-support';
import {
  measureMessages,
  measureText,
  noteCacheWrite,
  noteLongCacheWrite,
  outputTokens,
  type PromptMeasure,
  promptTokens,
  textUsage,
  TokenRatios,
} from '../inference/token-estimate';
import type { Bill, Candidate, InferenceInput, PricedText, RenderedAnswer } from '../inference/inference.types';
import { chatOf } from '../inference/route-planner';
import { StreamedInferenceService } from '../inference/streamed-inference.service';
import { UnaryInferenceService } from '../inference/unary-inference.service';
import type { CatalogModel } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import type { RoutingDto } from '../models/routing/routing.dto';
import type {
  ChatCompletionBody,
  ChatCompletionResult,
  ChatRequest,
  ChunkStream,
  StreamProgress,
} from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { openChatChunks } from './chat-chunks';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';
import { findImageUrls, ReferencedImages } from './referenced-images';

/** One request to an endpoint that chat models serve. */
interface ChatInferenceRequest {
  /** Operation id of the document. */
  readonly operation: string;
  /** The body as sent; fingerprinted for the `Idempotency-Key`. */
  readonly body: { readonly model: string; readonly routing?: RoutingDto | null };
  /** The request to the provider. */
  readonly chat: ChatRequest;
  readonly context: RequestContext;
  readonly format: ChatFormat;
}

/** A request as explain needs it: without its response format. */
type DescribedChat = Omit<ChatInferenceRequest, 'format'>;

/** The wire format of a chat model's response. A stateful one is created per request. */
export interface ChatFormat {
  complete(candidate: Candidate, request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult>;
  render(result: ChatCompletionResult, bill: Bill): RenderedAnswer;
  /** Opens a stream of the candidate in this format. */
  openStream(candidate: Candidate, request: ChatRequest, call: ProviderCall): Promise<ChunkStream>;
  /** The events after the last chunk; without `[DONE]`. */
  lastEvents(progress: StreamProgress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** The events that report a failure in mid-stream. Default: the error envelope as an event. */
  failureEvents?(error: GatewayError, requestId: string): string;
}

type UsageEstimate = (outputBytes: number, servedBy: CatalogModel) => UsageVector;

/** The shared flow of all chat formats: resolve the model, check access, estimate usage, run the inference. */
@Injectable()
export class ChatInference {
  private readonly defaultMaxOutputTokens: number;

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: UnaryInferenceService,
    private readonly streamed: StreamedInferenceService,
    private readonly ratios: TokenRatios,
    private readonly outbound: OutboundClient,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.defaultMaxOutputTokens = config.inference.defaultMaxOutputTokens;
  }

  /** @throws GatewayError (thrown or rejected) */
  answer(request: ChatInferenceRequest): Promise<Answer> {
    const images = this.imagesOf(request.chat, request.context);
    const input = this.inputOf(request);
    const { inputText: inputTokens } = input.estimate;
    const estimateUsage: UsageEstimate = (bytes, servedBy) =>
      textUsage(inputTokens, outputTokens(bytes, this.ratios.of(servedBy)));
    return input.streamed
      ? this.stream(request, input, images, estimateUsage)
      : this.complete(request, input, images, estimateUsage);
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(request: DescribedChat): ExplainedRequest {
    this.imagesOf(request.chat, request.context);
    return {
      input: this.inputOf(request),
      assertSupportedBy: assertingChat(request.chat),
    };
  }

  private inputOf({ operation, body, chat, context }: DescribedChat): InferenceInput {
    const target = requireTarget(this.catalog, context, body, 'text');
    const { model } = target;
    const prompt = measureChat(chat);
    const inputTokens = promptTokens(prompt, this.ratios.of(model));
    const estimate = textUsage(inputTokens, outputLimit(chat, model, this.defaultMaxOutputTokens));
    return {
      ...target,
      operation,
      streamed: chat.stream === true,
      estimate,
      prompt,
      traits: { tools: hasTools(chat) },
      supports: requiredSupport(target.routing, chat),
      refuses: requiredAcceptance(target.routing, assertingChat(chat)),
    };
  }

  /** `null` without image URLs. @throws GatewayError `ssrf_blocked`, `validation_failed` with `param` */
  private imagesOf(chat: ChatRequest, { memory }: RequestContext): ReferencedImages | null {
    const imageUrls = findImageUrls(chat.messages);
    if (imageUrls.length === 0) return null;
    for (const { url, param } of imageUrls) this.outbound.assertPublicUrl(url, param);
    return new ReferencedImages(chat, imageUrls, this.outbound, memory);
  }

  private complete(
    { chat, format }: ChatInferenceRequest,
    input: InferenceInput,
    images: ReferencedImages | null,
    estimateUsage: UsageEstimate,
  ): Promise<Answer> {
    return this.unary.execute({
      input,
      prepare: images === null ? undefined : (signal, candidates) => images.prepare(signal, candidates),
      attempt:
        images === null
          ? (candidate, call) => format.complete(candidate, chat, call)
          : async (candidate, call) =>
              format.complete(candidate, await images.requestFor(candidate, call.signal), call),
      estimateUsage,
      finishReasonOf: ({ body }) => (body.choices[0] as { readonly finish_reason?: string } | undefined)?.finish_reason,
      render: (result, bill) => format.render(result, bill),
    });
  }

  private stream(
    { chat, format }: ChatInferenceRequest,
    input: InferenceInput,
    images: ReferencedImages | null,
    estimateUsage: UsageEstimate,
  ): Promise<Answer> {
    return this.streamed.execute({
      input,
      prepare: images === null ? undefined : (signal, candidates) => images.prepare(signal, candidates),
      openStream: async (candidate, call) => {
        const request = images === null ? chat : await images.requestFor(candidate, call.signal);
        return format.openStream(candidate, request, call);
      },
      estimateUsage,
      lastEvents: (progress, bill, servedBy) => format.lastEvents(progress, bill, servedBy),
      failureEvents: (error, requestId) => format.failureEvents?.(error, requestId),
    });
  }
}

function hasTools({ tools, functions }: ChatRequest): boolean {
  return [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
}

const OPERATION = 'createChatCompletion';

const CHAT_FORMAT: ChatFormat = {
  complete: (candidate, request, call) => chatOf(candidate).complete(request, call),
  render: ({ body }, bill) => renderCompletion(body, bill),
  openStream: (candidate, request, call) => openChatChunks(chatOf(candidate), request, call),
  lastEvents: usageEvent,
};

/** `POST /v1/chat/completions`. */
@Injectable()
export class ChatService {
  constructor(private readonly inference: ChatInference) {}

  answer(body: ChatCompletionRequestDto, context: RequestContext): Promise<Answer> {
    const chat = toChatRequest(body);
    return this.inference.answer({
      operation: OPERATION,
      body,
      chat,
      context,
      format: CHAT_FORMAT,
    });
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: ChatCompletionRequestDto, context: RequestContext): ExplainedRequest {
    return this.inference.describe({ operation: OPERATION, body, chat: toChatRequest(body), context });
  }
}

/** The validated body as sent to providers. */
function toChatRequest(body: ChatCompletionRequestDto): ChatRequest {
  return providerFields(body) as unknown as ChatRequest;
}

/** Measures the prompt of a chat request. */
function measureChat(request: ChatRequest): PromptMeasure {
  const measure: PromptMeasure = { textBytes: 0, fixedTokens: 0 };
  measureMessages(request.messages, measure);
  measureText(request['tools'], measure);
  measureText(request['functions'], measure);
  measureText(request['response_format'], measure);
  noteCacheWrite(request['cache_control'], measure);
  noteLongCacheWrite(request['prompt_cache_options'], measure);
  return measure;
}

/** The most tokens that the model may write. */
function outputLimit(request: ChatRequest, model: CatalogModel, defaultMaxOutputTokens: number): number {
  const modelLimit = model.maxOutputTokens ?? Number.MAX_SAFE_INTEGER;
  const { max_tokens: legacy, max_completion_tokens: current } = request;
  if (legacy == null && current == null) return Math.min(modelLimit, defaultMaxOutputTokens);
  return Math.min(modelLimit, legacy ?? Number.MAX_SAFE_INTEGER, current ?? Number.MAX_SAFE_INTEGER);
}

/** `usage` in the chat-completion shape, with the gateway's extensions except the cost. */
interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number };
  completion_tokens_details: { reasoning_tokens: number; audio_tokens: number };
  x_llm_usage_estimated?: true;
}

/** Sums the disjoint token classes: the wire format repeats cached and reasoning tokens in the details. */
function toChatUsage({ usage, usageEstimated }: Bill): ChatUsage {
  const prompt =
    usage.inputText +
    usage.inputCacheRead +
    usage.inputCacheWrite5m +
    usage.inputCacheWrite1h +
    usage.inputImage +
    usage.inputAudio;
  const completion = usage.outputText + usage.outputReasoning + usage.outputImage + usage.outputAudio;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: usage.inputCacheRead, audio_tokens: usage.inputAudio },
    completion_tokens_details: { reasoning_tokens: usage.outputReasoning, audio_tokens: usage.outputAudio },
    ...(usageEstimated && { x_llm_usage_estimated: true as const }),
  };
}

/** The provider's response with `usage` as its last field. */
function renderCompletion(body: ChatCompletionBody, bill: Bill): RenderedAnswer {
  return { contentType: 'application/json; charset=utf-8', ...withUsage(JSON.stringify(body), bill, '') };
}

/** The chunk between the finish chunk and `[DONE]`. */
function usageEvent(progress: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
  const { id, created } = progress;
  const chunk = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, choices: [] });
  return withUsage(`data: ${chunk}`, bill, '\n\n');
}

/** Adds `usage` to serialized JSON, with a gap for the cost as its last field. */
export function withUsage(json: string, bill: Bill, ending: string): PricedText {
  const usage = JSON.stringify(toChatUsage(bill));
  return {
    head: `${json.slice(0, -1)},"usage":${usage.slice(0, -1)},"x_llm_cost_micro":`,
    tail: `}}${ending}`,
  };
}

/** @throws ProviderError for what the candidate's provider refuses */
function assertingChat(chat: ChatRequest): (candidate: Candidate) => void {
  return (candidate) => chatOf(candidate).assertSupported?.(chat, candidate);
}
