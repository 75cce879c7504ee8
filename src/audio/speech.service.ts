import { Injectable } from '@nestjs/common';
import type { Answer } from '../core/http/answer';
import { OutboundClient } from '../core/outbound/outbound-client';
import { GatewayError } from '../core/errors/gateway-error';
import type { RequestContext } from '../core/types/request-context';
import type { Candidate, Delivered, InferenceInput } from '../inference/inference.types';
import { requireTarget } from '../inference/inference-target';
import { TokenRatios } from '../inference/token-estimate';
import { StreamedInferenceService } from '../inference/streamed-inference.service';
import { ModelCatalogService } from '../models/model-catalog.service';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { SpeechProvider, SpeechRequest } from '../providers/contract/speech';
import type { SpeechRequestDto } from './dto/speech-request.dto';
import { mayCountTokens } from './priced-by-tokens';
import { assertCanSpeak, canSpeak, characterUsage, estimateCharacters, estimateSpeech } from './speech-request';
import { SPEECH_CONTENT_TYPES, speechDoneEvent, SpokenAudio, SpokenEvents } from './spoken-audio';

/** The same limit as for speech that arrives as a stream. */
const MAX_FILE_BYTES = 128 * 1024 * 1024;

/**
 * `POST /v1/audio/speech` on top of the shared inference use case. Audio is forwarded as it arrives. It is
 * all-or-nothing: interrupted audio is free, and its connection is reset.
 */
@Injectable()
export class SpeechService {
  constructor(
    private readonly catalog: ModelCatalogService,
    private readonly inference: StreamedInferenceService,
    private readonly ratios: TokenRatios,
    private readonly outbound: OutboundClient,
  ) {}

  answer(body: SpeechRequestDto, context: RequestContext): Promise<Answer> {
    const request = toSpeechRequest(body);
    const input = this.describe(body, context, request);
    const characters = characterUsage(request);
    const asEvents = body.stream_format === 'sse';
    const Spoken = asEvents ? SpokenEvents : SpokenAudio;
    const speech = {
      input,
      openStream: async (candidate: Candidate, call: ProviderCall): Promise<SpokenAudio> =>
        new Spoken(await speechOf(candidate).speak(request, this.withFiles(call)), characters, candidate.price),
      estimateUsage: () => input.estimate,
    };
    return asEvents
      ? this.inference.execute({ ...speech, lastEvents: (_progress: Delivered, bill) => speechDoneEvent(bill) })
      : this.inference.execute({ ...speech, contentType: SPEECH_CONTENT_TYPES[request.format] });
  }

  /** Lets the provider fetch a recording, for vendors that return a URL instead of audio. */
  private withFiles(call: ProviderCall): ProviderCall {
    const limits = { maxBytes: MAX_FILE_BYTES, timeoutMs: call.deadlines.totalMs };
    return {
      ...call,
      openFile: async (url) => (await this.outbound.fetchArtifact(url, limits, call.signal)).body,
    };
  }

  /** The metering input of a request. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: SpeechRequestDto, context: RequestContext, request = toSpeechRequest(body)): InferenceInput {
    const target = requireTarget(this.catalog, context, body, 'speech');
    assertCanSpeak(target.model, request);
    const models = [target.model, ...target.fallbacks];
    const usage = mayCountTokens(models)
      ? estimateSpeech(request, this.ratios.of(target.model))
      : characterUsage(request);
    const estimate = { ...usage, characters: estimateCharacters(request, models) };
    return {
      ...target,
      operation: 'createSpeech',
      streamed: true,
      allOrNothing: true,
      estimate,
      supports: ({ model }) => canSpeak(model, request),
    };
  }
}

function toSpeechRequest({
  input,
  voice,
  response_format: format,
  speed,
  instructions,
}: SpeechRequestDto): SpeechRequest {
  return { input, voice, format: format ?? 'mp3', speed: speed ?? null, instructions: instructions || null };
}

function speechOf({ provider }: Candidate): SpeechProvider {
  const { speech } = provider;
  if (speech === undefined) throw new GatewayError('no_provider_available', `${provider.id} does not serve speech.`);
  return speech;
}
