/**
 * Speech by Gemini models: `POST …:streamGenerateContent`, which returns samples in events
 * (https://ai.google.dev/gemini-api/docs/speech-generation).
 */
import type { ProviderCall } from '../../contract/provider-call';
import type { ProviderError } from '../../contract/provider-error';
import type { SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import { decodeBase64, isJsonObject, type JsonObject } from '../../kit/json';
import { type SpeechEventReader, SpeechEvents, type SpeechOutput } from '../../kit/speech-events';
import { unsupported } from '../../kit/unsupported';
import { contentFiltered, mapInBandError } from '../../kit/upstream-errors';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { ModelEndpoints } from './model-endpoints';
import { isWithheld, toEnumValue } from './response-reader';
import { toUsage } from './usage';

const SAMPLE_RATE = 24_000;
const RATE = /\brate=(\d+)/;

export class GeminiSpeech implements SpeechProvider {
  private readonly endpoints: ModelEndpoints;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'postForStream'>) {
    this.endpoints = new ModelEndpoints(http, 'streamGenerateContent', 'alt=sse');
  }

  async speak(request: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    if (request.format !== 'pcm') throw unsupported('response_format');
    const body = JSON.stringify(toSpeech(request));
    return SpeechEvents.openStream(new GeminiSpeechReader(), (receiver) =>
      this.http.postForStream(this.endpoints.of(call.upstreamModel), body, call, receiver),
    );
  }
}

/**
 * From version 3.8 on, models read the text word for word and take instructions in a separate field only
 * (https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/text-to-speech/migration-guide). Pure.
 * @throws ProviderError `validation_failed` with `param`
 */
export function toSpeech({ input, voice, speed, instructions }: SpeechRequest): JsonObject {
  if (speed !== null && speed !== 1) throw unsupported('speed');
  const part = { text: input, ...(instructions !== null && { speechMetadata: { style: instructions } }) };
  return {
    contents: [{ role: 'user', parts: [part] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
    },
  };
}

class GeminiSpeechReader implements SpeechEventReader {
  private finishReason: string | null = null;

  read(event: JsonObject, output: SpeechOutput): void {
    if (event['error'] != null) throw mapInBandError(event, output.phase);
    const { candidates, promptFeedback, usageMetadata } = event;
    if (isJsonObject(promptFeedback) && promptFeedback['blockReason'] != null) {
      throw filtered(promptFeedback['blockReason'], output);
    }
    const usage = toUsage(usageMetadata);
    if (usage !== null) output.report(usage);
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
    if (!isJsonObject(candidate)) return;
    const parts: unknown = isJsonObject(candidate['content']) ? candidate['content']['parts'] : undefined;
    for (const part of Array.isArray(parts) ? (parts as readonly unknown[]) : []) {
      if (isJsonObject(part) && isJsonObject(part['inlineData'])) output.write(samplesOf(part['inlineData'], output));
    }
    if (typeof candidate['finishReason'] === 'string') this.finishReason = candidate['finishReason'];
  }

  /** The answer is complete only with the reason `STOP`. */
  conclude(output: SpeechOutput): boolean {
    const { finishReason } = this;
    if (finishReason === null) return false;
    if (finishReason === 'STOP') return true;
    throw isWithheld(finishReason) ? filtered(finishReason, output) : output.failure('speech that is incomplete');
  }
}

function samplesOf({ mimeType, data }: JsonObject, output: SpeechOutput): Buffer {
  const rate = RATE.exec(String(mimeType))?.[1];
  const samples = typeof data === 'string' ? decodeBase64(data) : null;
  if (samples !== null && (rate === undefined || Number(rate) === SAMPLE_RATE)) return samples;
  throw output.failure('audio in a format other than the documented one');
}

function filtered(reason: unknown, { phase }: SpeechOutput): ProviderError {
  return contentFiltered({ phase }, toEnumValue(reason));
}
