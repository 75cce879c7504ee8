import { Injectable } from '@nestjs/common';
import type { Answer } from '../../core/http/answer';
import type { RequestContext } from '../../core/types/request-context';
import type { ExplainedRequest } from '../../inference/explanation.types';
import type { InferenceInput } from '../../inference/inference.types';
import { requiredSupport, requireTarget } from '../../inference/inference-target';
import { StreamedInferenceService } from '../../inference/streamed-inference.service';
import {
  measureMessages,
  outputTokens,
  type PromptMeasure,
  promptTokens,
  textUsage,
  TokenRatios,
} from '../../inference/token-estimate';
import { UnaryInferenceService } from '../../inference/unary-inference.service';
import type { CatalogModel } from '../../models/catalog-model';
import { ModelCatalogService } from '../../models/model-catalog.service';
import type { CompletionRequest } from '../../providers/contract/completions';
import type { UsageVector } from '../../providers/contract/usage';
import { renderCompletion, usageEvent } from './completion-usage';
import { completionsOf } from './completions-of';
import type { CompletionRequestDto } from './dto/completion-request.dto';
import { toCompletionRequest } from './to-completion-request';

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
      assertSupportedBy: (candidate) => completionsOf(candidate).assertSupported?.(request, candidate),
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
    };
  }
}

/** Measures the prompt of a completion. */
function measurePrompt({ prompt, suffix }: CompletionRequest): PromptMeasure {
  const measure = { textBytes: 0, fixedTokens: 0 };
  measureMessages([{ content: prompt, suffix }], measure);
  return measure;
}
