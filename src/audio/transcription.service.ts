import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import type { FormFile } from '../common/multipart-form';
import type { RequestContext } from '../common/request-context';
import type { ValidatedForm } from '../common/validation/valid-form.pipe';
import type { Candidate, InferenceInput } from '../inference/inference.types';
import { type InferenceTarget, requireTarget } from '../inference/require-target';
import { type MeteredResult, RunInference } from '../inference/run-inference';
import { StreamInference } from '../inference/stream-inference';
import { TokenRatios } from '../inference/token-ratio.service';
import { AudioProbe } from '../media/audio-probe';
import type { ProbedAudio } from '../media/audio-probe.types';
import { ModelCatalogService } from '../models/model-catalog.service';
import type { TranscriptionProvider, TranscriptionRequest } from '../providers/contract/transcription';
import type { UsageVector } from '../providers/contract/usage';
import type { TranscriptionFieldsDto } from './dto/transcription-fields.dto';
import { mayCountTokens, paidUsage } from './priced-by-tokens';
import { type MeasuredTranscript, renderTranscript, transcriptDoneEvent } from './transcript-reply';
import { MeteredTranscript, openTranscript } from './transcript-stream';
import { assertTellsTimes, isStreamed, requiredTimestamps, tellsTimes, type Timestamps } from './transcription-support';
import { estimateTranscription, secondsUsage } from './transcription-usage';

interface WrittenDown extends MeasuredTranscript, MeteredResult {}

type Target = InferenceTarget & Pick<InferenceInput, 'streamed'>;

/** One request, ready to be asked. */
interface Order {
  readonly input: InferenceInput;
  readonly request: TranscriptionRequest;
  readonly fields: TranscriptionFieldsDto;
  readonly reply: FastifyReply;
  /** What is paid for where seconds are. */
  readonly seconds: UsageVector;
}

/**
 * `POST /v1/audio/transcriptions`: what is special to transcripts around the shared inference use-cases. The file is
 * measured before anything is held: its seconds are the price, whatever its provider says.
 */
@Injectable()
export class TranscriptionService {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly unary: RunInference,
    private readonly streamed: StreamInference,
    private readonly probe: AudioProbe,
    private readonly ratios: TokenRatios,
  ) {}

  async answer(
    { body: fields, form }: ValidatedForm<TranscriptionFieldsDto>,
    context: RequestContext,
    reply: FastifyReply,
  ): Promise<void> {
    const [file] = form.filesOf('file');
    if (file === undefined) {
      throw new GatewayError('validation_failed', 'The form has no file.', { param: 'file' });
    }
    const timestamps = requiredTimestamps(fields);
    const target = { ...this.requireTarget(fields, timestamps, context), body: form };
    const probed = await this.probe.probe(file.bytes, 'file', target.principal.organizationId);
    const seconds = secondsUsage(probed.durationSeconds);
    const input = this.inputOf(target, fields, timestamps, seconds);
    const request = toTranscriptionRequest(fields, file, probed, timestamps);
    const order = { input, request, fields, reply, seconds };
    return input.streamed ? this.stream(order) : this.complete(order);
  }

  /**
   * What a request comes to, for a file of so many seconds.
   * @throws GatewayError as {@link answer} would before anybody is asked
   */
  describe(fields: TranscriptionFieldsDto, durationSeconds: number, context: RequestContext): InferenceInput {
    const timestamps = requiredTimestamps(fields);
    const target = this.requireTarget(fields, timestamps, context);
    return this.inputOf(target, fields, timestamps, secondsUsage(durationSeconds));
  }

  /** All that is refused whatever is in the file. */
  private requireTarget(fields: TranscriptionFieldsDto, timestamps: Timestamps, context: RequestContext): Target {
    const target = requireTarget(this.catalog, context, fields, 'transcription');
    assertTellsTimes(target.model, fields, timestamps);
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
      soldWhole: true,
      estimate: this.estimate(target, fields, seconds),
      supports: ({ model }) => tellsTimes(model, timestamps),
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

  private complete({ input, request, fields, reply, seconds }: Order): Promise<void> {
    return this.unary.run<WrittenDown>({
      input,
      reply,
      attempt: async (candidate, call) => {
        const transcript = await transcriptionOf(candidate).transcribe(request, call);
        const tokensCount = candidate.price.isByTokens;
        return {
          transcript,
          tokensCount,
          durationSeconds: seconds.seconds,
          language: request.language,
          usage: paidUsage(transcript.usage, seconds, tokensCount),
          outputBytes: Buffer.byteLength(transcript.text),
        };
      },
      estimateUsage: () => input.estimate,
      render: (written, bill) => renderTranscript(written, fields.response_format ?? 'json', bill),
    });
  }

  private stream({ input, request, reply, seconds }: Order): Promise<void> {
    return this.streamed.run({
      input,
      reply,
      open: async (candidate, call) =>
        new MeteredTranscript(
          await openTranscript(transcriptionOf(candidate), request, call),
          seconds,
          candidate.price.isByTokens,
        ),
      estimateUsage: () => input.estimate,
      lastEvents: ({ text, tokensCount }, bill) => transcriptDoneEvent(text, bill, tokensCount),
    });
  }
}

function toTranscriptionRequest(
  { language, prompt, temperature }: TranscriptionFieldsDto,
  { bytes }: FormFile,
  { contentType, extension }: ProbedAudio,
  timestamps: TranscriptionRequest['timestamps'],
): TranscriptionRequest {
  return {
    audio: bytes,
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
