import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import type { RequestContext } from '../common/request-context';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { ExplainedRequest } from '../inference/explanation.types';
import type { Bill, Candidate, InferenceInput, PricedText, RenderedAnswer } from '../inference/inference.types';
import { requiredSupport } from '../inference/parameter-support';
import { requireTarget } from '../inference/require-target';
import { RunInference } from '../inference/run-inference';
import { StreamInference } from '../inference/stream-inference';
import { outputTokens, promptTokens, textUsage } from '../inference/token-estimate';
import { TokenRatios } from '../inference/token-ratio.service';
import type { CatalogModel } from '../models/catalog-model';
import { ModelCatalogService } from '../models/model-catalog.service';
import { OutboundClient } from '../outbound/outbound-client';
import type {
  ChatCompletionResult,
  ChatProvider,
  ChatRequest,
  ChatStream,
  StreamProgress,
} from '../providers/contract/chat';
import type { UsageVector } from '../providers/contract/usage';
import type { RoutingDto } from '../routing/routing.dto';
import { AddressedImages } from './addressed-images';
import { measureChat, outputLimit } from './estimate-chat';
import { imageAddresses } from './image-addresses';

/** One request to an endpoint that chat models serve. */
export interface ChatInferenceRequest {
  /** Operation id of the document. */
  readonly operation: string;
  /** The body as it was sent: what its `Idempotency-Key` stands for. */
  readonly body: { readonly model: string; readonly routing?: RoutingDto | null };
  /** What the provider is asked. */
  readonly chat: ChatRequest;
  readonly context: RequestContext;
  readonly reply: FastifyReply;
  readonly format: ChatFormat;
}

/** What decides about a request besides the form of its answer. */
export type DescribedChat = Omit<ChatInferenceRequest, 'reply' | 'format'>;

/** The wire format in which the answer of a chat model goes out. One object per request, if it has a memory. */
export interface ChatFormat {
  render(result: ChatCompletionResult, bill: Bill): RenderedAnswer;
  /** The stream in this format; without it the chunks go out as they are. */
  translate?(stream: ChatStream): ChatStream;
  /** The events after the last chunk; without `[DONE]`. */
  lastEvents(progress: StreamProgress, bill: Bill, servedBy: CatalogModel): PricedText;
  /** How a stream that has begun tells its failure; without it the error envelope is an event. */
  failureEvents?(error: GatewayError, requestId: string): string;
}

type UsageEstimate = (outputBytes: number, servedBy: CatalogModel) => UsageVector;

/** The way of every chat format through the shared inference use-cases: model, permission, estimate, answer. */
@Injectable()
export class ChatInference {
  private readonly defaultMaxOutputTokens: number;

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: RunInference,
    private readonly streamed: StreamInference,
    private readonly ratios: TokenRatios,
    private readonly outbound: OutboundClient,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.defaultMaxOutputTokens = config.inference.defaultMaxOutputTokens;
  }

  /** Resolves when the answer has ended. @throws GatewayError only while nothing has been sent. */
  async answer(asked: ChatInferenceRequest): Promise<void> {
    const images = this.imagesOf(asked.chat, asked.context);
    const input = this.inputOf(asked);
    const { inputText: inputTokens } = input.estimate;
    const estimateUsage: UsageEstimate = (bytes, servedBy) =>
      textUsage(inputTokens, outputTokens(bytes, this.ratios.of(servedBy)));
    return input.streamed
      ? this.stream(asked, input, images, estimateUsage)
      : this.complete(asked, input, images, estimateUsage);
  }

  /** The request before anybody is asked for anything. @throws GatewayError as {@link answer} would until then */
  describe(asked: DescribedChat): ExplainedRequest {
    this.imagesOf(asked.chat, asked.context);
    return {
      input: this.inputOf(asked),
      assertTaken: (candidate) => chatOf(candidate).assertSupported?.(asked.chat, candidate),
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
    return { ...target, operation, streamed, estimate, prompt, supports };
  }

  /** `null` when it refers to none. @throws GatewayError `ssrf_blocked`, `validation_failed` with `param` */
  private imagesOf(chat: ChatRequest, { memory }: RequestContext): AddressedImages | null {
    const addresses = imageAddresses(chat.messages);
    if (addresses.length === 0) return null;
    for (const { url, param } of addresses) this.outbound.assertPublicUrl(url, param);
    return new AddressedImages(chat, addresses, this.outbound, memory);
  }

  private complete(
    { chat, reply, format }: ChatInferenceRequest,
    input: InferenceInput,
    images: AddressedImages | null,
    estimateUsage: UsageEstimate,
  ): Promise<void> {
    return this.unary.run({
      input,
      reply,
      prepare: images === null ? undefined : (signal, candidates) => images.prepare(signal, candidates),
      attempt: async (candidate, call) => {
        const request = images === null ? chat : await images.requestFor(candidate, call.signal);
        return chatOf(candidate).complete(request, call);
      },
      estimateUsage,
      render: (result, bill) => format.render(result, bill),
    });
  }

  private stream(
    { chat, reply, format }: ChatInferenceRequest,
    input: InferenceInput,
    images: AddressedImages | null,
    estimateUsage: UsageEstimate,
  ): Promise<void> {
    return this.streamed.run({
      input,
      reply,
      prepare: images === null ? undefined : (signal, candidates) => images.prepare(signal, candidates),
      open: async (candidate, call) => {
        const request = images === null ? chat : await images.requestFor(candidate, call.signal);
        const stream = await chatOf(candidate).openStream(request, call);
        return format.translate?.(stream) ?? stream;
      },
      estimateUsage,
      lastEvents: (progress, bill, servedBy) => format.lastEvents(progress, bill, servedBy),
      failureEvents: (error, requestId) => format.failureEvents?.(error, requestId),
    });
  }
}

function chatOf(candidate: Candidate): ChatProvider {
  const { chat } = candidate.provider;
  if (chat === undefined) {
    throw new GatewayError('no_provider_available', `${candidate.provider.id} does not serve chat.`);
  }
  return chat;
}
