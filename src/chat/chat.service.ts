import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import type { RequestContext } from '../common/request-context';
import { requirePrincipal } from '../common/request-context';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { inferenceHeaders } from '../inference/inference-headers';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import { RunInference } from '../inference/run-inference';
import { StreamInference } from '../inference/stream-inference';
import { outputTokens, textUsage } from '../inference/token-estimate';
import { assertModelAllowed } from '../models/model-access';
import { ModelCatalogService } from '../models/model-catalog.service';
import type { ChatProvider, ChatRequest } from '../providers/contract/chat';
import type { UsageVector } from '../providers/contract/usage';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';
import { estimateChat } from './estimate-chat';
import { toChatUsage, usageEvent } from './chat-usage';
import { toChatRequest } from './to-chat-request';

const OPERATION = 'createChatCompletion';

/** `POST /v1/chat/completions`: what is special to chat around the shared inference use-cases. */
@Injectable()
export class ChatService {
  private readonly defaultMaxOutputTokens: number;

  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: RunInference,
    private readonly streamed: StreamInference,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.defaultMaxOutputTokens = config.inference.defaultMaxOutputTokens;
  }

  async answer(body: ChatCompletionRequestDto, context: RequestContext, reply: FastifyReply): Promise<void> {
    const principal = requirePrincipal(context);
    const model = this.catalog.require(body.model);
    assertModelAllowed(principal, model);
    if (model.modality !== 'text') {
      throw new GatewayError('validation_failed', `${model.id} is not a text model.`, { param: 'model' });
    }
    const routing = body.routing ?? null;
    if (routing?.strategy === 'smart') {
      const param = 'routing.strategy';
      throw new GatewayError('not_implemented', 'The strategy "smart" is not part of this build.', { param });
    }
    const request = toChatRequest(body);
    const estimate = estimateChat(request, model, this.defaultMaxOutputTokens);
    const streamed = request.stream === true;
    const input: InferenceInput = { operation: OPERATION, model, principal, context, streamed, routing, estimate };
    const estimateUsage = (bytes: number): UsageVector =>
      textUsage(estimate.inputText, outputTokens(bytes, model.tokensPerByte));
    if (streamed) return this.stream(request, input, reply, estimateUsage);
    return this.complete(request, input, reply, estimateUsage);
  }

  private async complete(
    request: ChatRequest,
    input: InferenceInput,
    reply: FastifyReply,
    estimateUsage: (bytes: number) => UsageVector,
  ): Promise<void> {
    const { result, receipt } = await this.unary.run({
      input,
      reply,
      attempt: (candidate, call) => chatOf(candidate).complete(request, call),
      estimateUsage,
    });
    const { body } = result;
    body.usage = toChatUsage(receipt);
    reply
      .headers(inferenceHeaders(input, receipt.chargedMicro))
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify(body));
  }

  private stream(
    request: ChatRequest,
    input: InferenceInput,
    reply: FastifyReply,
    estimateUsage: (bytes: number) => UsageVector,
  ): Promise<void> {
    return this.streamed.run({
      input,
      reply,
      open: (candidate, call) => chatOf(candidate).openStream(request, call),
      estimateUsage,
      lastEvents: (progress, receipt) => usageEvent(progress, input.model.id, receipt),
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
