import { Injectable } from '@nestjs/common';
import type { Answer } from '../../core/http/answer';
import type { RequestContext } from '../../core/types/request-context';
import type { ExplainedRequest } from '../../inference/explanation.types';
import { providerFields, requireTarget } from '../../inference/inference-target';
import { requiredAcceptance, requiredSupport } from '../../inference/parameter-support';
import {
  measureMessages,
  outputTokens,
  type PromptMeasure,
  promptTokens,
  textUsage,
  TokenRatios,
} from '../../inference/token-estimate';
import type { Bill, Candidate, InferenceInput, PricedText, RenderedAnswer } from '../../inference/inference.types';
import { chatOf } from '../../inference/route-planner';
import { StreamedInferenceService } from '../../inference/streamed-inference.service';
import { UnaryInferenceService } from '../../inference/unary-inference.service';
import type { CatalogModel } from '../../models/catalog-model';
import { ModelCatalogService } from '../../models/model-catalog.service';
import type { StreamProgress } from '../../providers/contract/chat';
import type { CompletionBody, CompletionRequest, CompletionsProvider } from '../../providers/contract/completions';
import type { UsageVector } from '../../providers/contract/usage';
import { withUsage } from '../chat.service';
import { CompletionsOverChat, toCompletionId } from './completions-over-chat';
import type { CompletionRequestDto } from './dto/completion-request.dto';

/** `POST /v1/completions` on top of the shared inference use cases. */
@Injectable()
export class CompletionsService {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: UnaryInferenceService,
    private readonly streamed: StreamedInferenceService,
    private readonly ratios: TokenRatios,
  ) {}

  answer(body: CompletionRequestDto, context: RequestContext): Promise<Answer> {
    const request = toCompletionRequest(body);
    const input = this.inputOf(body, request, context);
    const { inputText: inputTokens } = input.estimate;
    const estimateUsage = (bytes: number, servedBy: CatalogModel): UsageVector =>
      textUsage(inputTokens, outputTokens(bytes, this.ratios.of(servedBy)));
    if (input.streamed) {
      return this.streamed.execute({
        input,
        openStream: (candidate, call) => completionsOf(candidate).openStream(request, call),
        estimateUsage,
        lastEvents: usageEvent,
      });
    }
    return this.unary.execute({
      input,
      attempt: (candidate, call) => completionsOf(candidate).complete(request, call),
      estimateUsage,
      render: (result, bill) => renderCompletion(result.body, bill),
    });
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: CompletionRequestDto, context: RequestContext): ExplainedRequest {
    const request = toCompletionRequest(body);
    return {
      input: this.inputOf(body, request, context),
      assertSupportedBy: assertingCompletion(request),
    };
  }

  private inputOf(body: CompletionRequestDto, request: CompletionRequest, context: RequestContext): InferenceInput {
    const target = requireTarget(this.catalog, context, body, 'text');
    const { model } = target;
    const prompt = measurePrompt(request);
    const inputTokens = promptTokens(prompt, this.ratios.of(model));
    return {
      ...target,
      operation: 'createCompletion',
      streamed: request.stream === true,
      estimate: textUsage(inputTokens, Math.min(request.max_tokens, model.maxOutputTokens ?? Infinity)),
      prompt,
      supports: requiredSupport(target.routing, request),
      refuses: requiredAcceptance(target.routing, assertingCompletion(request)),
    };
  }
}

/** Measures the prompt of a completion. */
function measurePrompt({ prompt, suffix }: CompletionRequest): PromptMeasure {
  const measure = { textBytes: 0, fixedTokens: 0 };
  measureMessages([{ content: prompt, suffix }], measure);
  return measure;
}

/** @throws ProviderError for what the candidate's provider refuses */
function assertingCompletion(request: CompletionRequest): (candidate: Candidate) => void {
  return (candidate) => completionsOf(candidate).assertSupported?.(request, candidate);
}

/** The candidate's native text completion if the catalogue lists it, else completion over chat. */
function completionsOf(candidate: Candidate): CompletionsProvider {
  const { provider, features } = candidate;
  if (features.completions === true && provider.completions !== undefined) return provider.completions;
  return new CompletionsOverChat(chatOf(candidate));
}

/** The response with `usage` as its last field. */
function renderCompletion(body: CompletionBody, bill: Bill): RenderedAnswer {
  return { contentType: 'application/json; charset=utf-8', ...withUsage(JSON.stringify(body), bill, '') };
}

/** The chunk between the finish chunk and `[DONE]`. */
function usageEvent({ id, created }: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
  const chunk = { id: toCompletionId(id), object: 'text_completion', created, model, choices: [] };
  return withUsage(`data: ${JSON.stringify(chunk)}`, bill, '\n\n');
}

/** Default output limit of the format. */
const DEFAULT_MAX_TOKENS = 16;

/** The validated body as sent to providers, with defaults. */
export function toCompletionRequest(body: CompletionRequestDto): CompletionRequest {
  const { prompt, max_tokens: maxTokens } = body;
  return {
    ...providerFields(body),
    prompt: typeof prompt === 'string' ? prompt : (prompt[0] ?? ''),
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
  };
}
