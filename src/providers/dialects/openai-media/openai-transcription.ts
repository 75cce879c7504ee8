/** Dialect `openai-media`, transcription: `POST …/audio/transcriptions`, at once or as a stream of text. */
import type { ProviderCall } from '../../contract/provider-call';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptStream,
} from '../../contract/transcription';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { fromTranscriptReply } from './from-transcript-reply';
import { OpenAiTranscriptStream } from './openai-transcript-stream';
import { toTranscriptionForm } from './to-transcription-form';

export class OpenAiTranscription implements TranscriptionProvider {
  private readonly endpoint: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'post' | 'postForStream'>) {
    this.endpoint = http.endpoint('audio/transcriptions');
  }

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const form = toTranscriptionForm(request, call, false);
    return fromTranscriptReply(await this.http.post(this.endpoint, form, call), request);
  }

  openStream(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream> {
    const form = toTranscriptionForm(request, call, true);
    return new Promise((resolve, reject) => {
      const stream = new OpenAiTranscriptStream({ resolve: () => resolve(stream), reject });
      stream.readFrom(this.http.postForStream(this.endpoint, form, call, stream));
    });
  }
}
