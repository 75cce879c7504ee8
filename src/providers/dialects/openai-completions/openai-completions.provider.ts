/**
 * Dialect `openai-completions`: `POST …/completions`, which base models and self-hosted servers still support. Its
 * streams are framed like chat streams and share their code; only the chunks differ.
 */
import type { ChunkStream } from '../../contract/chat';
import type { CompletionRequest, CompletionResult, CompletionsProvider } from '../../contract/completions';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { type StreamOutput, UpstreamStream } from '../../kit/upstream-stream';
import { checkNoRejectedFields } from '../openai-chat/request-support';
import { CompletionChunkTranslator } from './completion-chunk-translator';
import { fromOpenAiCompletionReply } from './from-openai-completion-reply';
import { toOpenAiCompletionRequest } from './to-openai-completion-request';

const CHUNKS: StreamOutput<Buffer> = {
  translatorFor: (call, state) => new CompletionChunkTranslator(call, state),
  join: (frames) => Buffer.concat(frames),
};

export class OpenAiCompletions implements CompletionsProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('completions');
  }

  assertSupported(request: CompletionRequest, { quirks }: DeploymentTraits): void {
    checkNoRejectedFields(request, quirks);
  }

  async complete(request: CompletionRequest, call: ProviderCall): Promise<CompletionResult> {
    const body = JSON.stringify(toOpenAiCompletionRequest(request, call, false));
    return fromOpenAiCompletionReply(await this.http.post(this.endpoint, body, call), call);
  }

  async openStream(request: CompletionRequest, call: ProviderCall): Promise<ChunkStream> {
    const body = JSON.stringify(toOpenAiCompletionRequest(request, call, true));
    return UpstreamStream.open({ http: this.http, endpoint: this.endpoint, body, call }, CHUNKS);
  }
}
