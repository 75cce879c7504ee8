import type { ProviderCall } from '../../contract/provider-call';
import type { Transcript, TranscriptionProvider, TranscriptionRequest } from '../../contract/transcription';
import { OpenAiTranscription } from '../../dialects/openai-media/openai-transcription';
import type { UpstreamHttp } from '../../kit/upstream-http';

/**
 * Transcription by Together AI, in OpenAI's format without streams. A recording counts as English unless the language
 * is given or to be detected
 * (https://github.com/togethercomputer/together-typescript/blob/main/src/resources/audio/transcriptions.ts).
 */
export class TogetherTranscription implements TranscriptionProvider {
  private readonly transcription: OpenAiTranscription;

  constructor(http: UpstreamHttp) {
    this.transcription = new OpenAiTranscription(http);
  }

  transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    return this.transcription.transcribe({ ...request, language: request.language ?? 'auto' }, call);
  }
}
