import { Inject, Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import type { GatewayError } from '../core/errors/gateway-error';
import type { RequestContext } from '../core/types/request-context';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { ExplainedRequest } from '../inference/explanation.types';
import type { Bill, Candidate, InferenceInput, PricedText, RenderedAnswer } from '../inference/inference.types';
import { requiredSupport, requireTarget } from '../inference/inference-target';
import { chatOf } from '../inference/route-planner';
import { StreamedInferenceService } from '../inference/streamed-inference.service';
import { outputTokens, promptTokens, textUsage, TokenRatios } from '../inference/token-estimate';
import { UnaryInferenceService } from '../inference/unary-inference.service';
import type { CatalogModel } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import { OutboundClient } from '../core/outbound/outbound-client';
import type { ChatCompletionResult, ChatRequest, ChunkStream, StreamProgress } from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import type { RoutingDto } from '../models/routing/routing.dto';
import { findImageUrls, ReferencedImages } from './referenced-images';
import { measureChat, outputLimit } from './chat-usage';

/** One request to an endpoint that chat models serve. */
export interface ChatInferenceRequest {
  /** Operation id of the document. */
  readonly operation: string;
  /** The body as sent; fingerprinted for the `Idempotency-Key`. */
  readonly body: { readonly model: string; readonly routing?: RoutingDto | null };
  /** The request to the provider. */
  readonly chat: ChatRequest;
  readonly context: RequestContext;
  readonly format: ChatFormat;
}

/** A request without its response format. */
export type DescribedChat = Omit<ChatInferenceRequest, 'format'>;

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

  /** @throws GatewayError */
  async answer(asked: ChatInferenceRequest): Promise<Answer> {
    const images = this.imagesOf(asked.chat, asked.context);
    const input = this.inputOf(asked);
    const { inputText: inputTokens } = input.estimate;
    const estimateUsage: UsageEstimate = (bytes, servedBy) =>
      textUsage(inputTokens, outputTokens(bytes, this.ratios.of(servedBy)));
    return input.streamed
      ? this.stream(asked, input, images, estimateUsage)
      : this.complete(asked, input, images, estimateUsage);
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(asked: DescribedChat): ExplainedRequest {
    this.imagesOf(asked.chat, asked.context);
    return {
      input: this.inputOf(asked),
      assertSupportedBy: (candidate) => chatOf(candidate).assertSupported?.(asked.chat, candidate),
    };
  }

  private inputOf({ operation, body, chat, context }: DescribedChat): InferenceInput {
    const target = requireTarget(this.catalog, context, body, 'text');
    const { model } = target;
    const prompt = measureChat(chat);
    const inputTokens = promptTokens(prompt, this.ratios.of(model));
    const estimate = textUsage(inputTokens, outputLimit(chat, model, this.defaultMaxOutputTokens));
    const supports = requiredSupport(target.routing, chat);
    const streamed = chat.stream === true;
    return { ...target, operation, streamed, estimate, prompt, usesTools: hasTools(chat), supports };
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
