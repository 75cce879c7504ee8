import { Injectable } from '@nestjs/common';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Answer } from '../../core/http/answer';
import type { RequestContext } from '../../core/types/request-context';
import type { ExplainedRequest } from '../../inference/explanation.types';
import { providerFields, requireTarget } from '../../inference/inference-target';
import { requiredAcceptance, requiredSupport } from '../../inference/parameter-support';
import { measureText, type PromptMeasure, promptTokens, textUsage, TokenRatios } from '../../inference/token-estimate';
import type { Candidate, InferenceInput } from '../../inference/inference.types';
import { type MeteredResult, UnaryInferenceService } from '../../inference/unary-inference.service';
import { ModelCatalogService } from '../../models/model-catalog.service';
import {
  type EmbeddingInput,
  type EmbeddingRequest,
  type EmbeddingsProvider,
  inputsOf,
} from '../../providers/contract/embeddings';
import type { ProviderCall } from '../../providers/contract/provider-call';
import type { EmbeddingRequestDto, EncodingFormat } from './dto/embedding-request.dto';
import { renderEmbeddingList, writeVectors } from './embedding-list';

/** A provider's vectors in the requested encoding. */
interface EmbeddedList extends MeteredResult {
  readonly list: readonly Buffer[];
  readonly model: string;
}

/** `POST /v1/embeddings` on top of the shared inference use case. */
@Injectable()
export class EmbeddingsService {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly inference: UnaryInferenceService,
    private readonly ratios: TokenRatios,
  ) {}

  answer(body: EmbeddingRequestDto, context: RequestContext): Promise<Answer> {
    const { encoding_format: format, ...request } = providerFields(body);
    const input = this.inputOf(body, request, context);
    return this.inference.execute<EmbeddedList>({
      input,
      attempt: (candidate, call) => embed(request, format ?? 'float', candidate, call),
      estimateUsage: () => input.estimate,
      render: ({ list, model }, bill) => renderEmbeddingList(list, model, bill),
    });
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: EmbeddingRequestDto, context: RequestContext): ExplainedRequest {
    const { encoding_format: _format, ...request } = providerFields(body);
    return {
      input: this.inputOf(body, request, context),
      assertSupportedBy: assertingEmbedding(request),
    };
  }

  private inputOf(body: EmbeddingRequestDto, request: EmbeddingRequest, context: RequestContext): InferenceInput {
    const target = requireTarget(this.catalog, context, body, 'embedding');
    const prompt = measureInputs(request.input);
    return {
      ...target,
      operation: 'createEmbedding',
      streamed: false,
      estimate: textUsage(promptTokens(prompt, this.ratios.of(target.model)), 0),
      prompt,
      promptCount: inputsOf(request.input).length,
      supports: requiredSupport(target.routing, request),
      refuses: requiredAcceptance(target.routing, assertingEmbedding(request)),
    };
  }
}

async function embed(
  request: EmbeddingRequest,
  format: EncodingFormat,
  candidate: Candidate,
  call: ProviderCall,
): Promise<EmbeddedList> {
  const { vectors, usage } = await embeddingsOf(candidate).embed(request, call);
  const outputBytes = vectors.reduce((sum, { length }) => sum + length * Float32Array.BYTES_PER_ELEMENT, 0);
  return { list: await writeVectors(vectors, format), model: call.publicModel, usage, outputBytes };
}

/** @throws ProviderError for what the candidate's provider refuses */
function assertingEmbedding(request: EmbeddingRequest): (candidate: Candidate) => void {
  return (candidate) => embeddingsOf(candidate).assertSupported?.(request, candidate);
}

function embeddingsOf({ provider }: Candidate): EmbeddingsProvider {
  const { embeddings } = provider;
  if (embeddings === undefined) {
    throw new GatewayError('no_provider_available', `${provider.id} does not serve embeddings.`);
  }
  return embeddings;
}

/** Measures texts in bytes; token ids count as tokens. */
function measureInputs(input: EmbeddingInput): PromptMeasure {
  const measure: PromptMeasure = { textBytes: 0, fixedTokens: 0 };
  for (const item of inputsOf(input)) {
    if (typeof item === 'string') measureText(item, measure);
    else measure.fixedTokens += item.length;
  }
  return measure;
}
