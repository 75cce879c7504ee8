import { Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import { GatewayError } from '../core/errors/gateway-error';
import { disconnectSignalOf, type RequestContext } from '../core/types/request-context';
import type { ValidatedForm } from '../core/validation/valid-form.pipe';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import { type InferenceTarget, requireTarget } from '../inference/inference-target';
import { TokenRatios } from '../inference/token-estimate';
import { StreamedInferenceService } from '../inference/streamed-inference.service';
import { type MeteredResult, UnaryInferenceService } from '../inference/unary-inference.service';
import { AudioProbe, type ProbedAudio } from '../core/media/media-probes';
import { ModelCatalogService } from '../models/model-catalog.service';
import type { TranscriptionProvider, TranscriptionRequest } from '../providers/contract/transcription';
import type { UsageVector } from '../providers/contract/usage';
import type { TranscriptionFieldsDto } from './dto/transcription-fields.dto';
import { mayCountTokens, paidUsage } from './priced-by-tokens';
import { type MeasuredTranscript, renderTranscript, transcriptDoneEvent } from './transcript-reply';
import { MeteredTranscript, openTranscript } from './transcript-stream';
import {
  assertTimestampsSupported,
  chargedSeconds,
  estimateTranscription,
  isStreamed,
  requiredTimestamps,
  secondsUsage,
  supportsTimestamps,
  type Timestamps,
} from './transcription-request';

interface WrittenDown extends MeasuredTranscript, MeteredResult {}

type Target = InferenceTarget & Pick<InferenceInput, 'streamed'>;

/** A validated request. */
interface Order {
  readonly input: InferenceInput;
  readonly request: TranscriptionRequest;
  readonly fields: TranscriptionFieldsDto;
  readonly measuredSeconds: number;
}

/**
 * `POST /v1/audio/transcriptions` on top of the shared inference use cases. The duration is measured before the hold,
 * and the provider gets exactly the measured bytes. A different plausible duration that the provider reports takes
 * precedence.
 */
@Injectable()
export class TranscriptionService {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: UnaryInferenceService,
    private readonly streamed: StreamedInferenceService,
    private readonly probe: AudioProbe,
    private readonly ratios: TokenRatios,
  ) {}

  async answer(
    { body: fields, form }: ValidatedForm<TranscriptionFieldsDto>,
    context: RequestContext,
  ): Promise<Answer> {
    const [file] = form.filesOf('file');
    if (file === undefined) {
      throw new GatewayError('validation_failed', 'The form is missing its file.', { param: 'file' });
    }
    const timestamps = requiredTimestamps(fields);
    const target = { ...this.requireTarget(fields, timestamps, context), body: form };
    const left = disconnectSignalOf(context.connection);
    const probed = await this.probe.probe(file.bytes, 'file', target.principal.organizationId, left);
    const measuredSeconds = probed.durationSeconds;
    const input = this.inputOf(target, fields, timestamps, secondsUsage(measuredSeconds));
    const request = toTranscriptionRequest(fields, probed, timestamps);
    const order = { input, request, fields, measuredSeconds };
    return input.streamed ? this.stream(order) : this.complete(order);
  }

  /**
   * The metering input of a request for a file of this duration.
   * @throws GatewayError as {@link answer} before it calls a provider
   */
  describe(fields: TranscriptionFieldsDto, durationSeconds: number, context: RequestContext): InferenceInput {
    const timestamps = requiredTimestamps(fields);
    const target = this.requireTarget(fields, timestamps, context);
    return this.inputOf(target, fields, timestamps, secondsUsage(durationSeconds));
  }

  /** The checks that do not depend on the file. */
  private requireTarget(fields: TranscriptionFieldsDto, timestamps: Timestamps, context: RequestContext): Target {
    const target = requireTarget(this.catalog, context, fields, 'transcription');
    assertTimestampsSupported(target.model, fields, timestamps);
    return { ...target, streamed: isStreamed(target.model, fields) };
  }

  private inputOf(
    target: Target,
    fields: TranscriptionFieldsDto,
    timestamps: Timestamps,
    seconds: UsageVector,
  ): InferenceInput {
    return {
      ...target,
      operation: 'createTranscription',
      allOrNothing: true,
      estimate: this.estimate(target, fields, seconds),
      supports: ({ model }) => supportsTimestamps(model, timestamps),
    };
  }

  private estimate(
    { model, fallbacks }: InferenceTarget,
    { prompt }: TranscriptionFieldsDto,
    seconds: UsageVector,
  ): UsageVector {
    if (!mayCountTokens([model, ...fallbacks])) return seconds;
    return estimateTranscription(seconds, prompt ?? '', this.ratios.of(model));
  }

  private complete({ input, request, fields, measuredSeconds }: Order): Promise<Answer> {
    return this.unary.execute<WrittenDown>({
      input,
      attempt: async (candidate, call) => {
        const transcript = await transcriptionOf(candidate).transcribe(request, call);
        const tokensCount = candidate.price.isByTokens;
        const known = secondsUsage(chargedSeconds(measuredSeconds, transcript.reportedSeconds));
        return {
          transcript,
          tokensCount,
          durationSeconds: measuredSeconds,
          language: request.language,
          usage: paidUsage(transcript.usage, known, candidate.price),
          outputBytes: Buffer.byteLength(transcript.text),
        };
      },
      estimateUsage: () => input.estimate,
      render: (written, bill) => renderTranscript(written, fields.response_format ?? 'json', bill),
    });
  }

  private stream({ input, request, measuredSeconds }: Order): Promise<Answer> {
    return this.streamed.execute({
      input,
      openStream: async (candidate, call) =>
        new MeteredTranscript(
          await openTranscript(transcriptionOf(candidate), request, call),
          measuredSeconds,
          candidate.price,
        ),
      estimateUsage: () => input.estimate,
      lastEvents: ({ text, tokensCount }, bill) => transcriptDoneEvent(text, bill, tokensCount),
    });
  }
}

function toTranscriptionRequest(
  { language, prompt, temperature }: TranscriptionFieldsDto,
  { bytes, contentType, extension }: ProbedAudio,
  timestamps: TranscriptionRequest['timestamps'],
): TranscriptionRequest {
  return {
    audio: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
    contentType,
    fileName: `audio.${extension}`,
    language: language ?? null,
    prompt: prompt || null,
    temperature: temperature ?? null,
    timestamps,
  };
}

function transcriptionOf({ provider }: Candidate): TranscriptionProvider {
  const { transcription } = provider;
  if (transcription !== undefined) return transcription;
  throw new GatewayError('no_provider_available', `${provider.id} does not serve transcriptions.`);
}
