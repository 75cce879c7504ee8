import type { ProviderCall } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import type { ChatStreamState, EventTranslator } from '../../kit/upstream-stream';
import { ChunkReader, parseChunk, type ReadChunk } from './chunk-reader';
import { FrameTemplate, TemplateLearner } from './content-template';

/**
 * Translates upstream events into chunks for the client, one at a time. Most events of a stream differ in a few
 * characters of text only: those go through a template learned from an earlier chunk, without any JSON work. All other
 * events are parsed.
 */
export class ChatChunkTranslator implements EventTranslator<Buffer> {
  private readonly reader: ChunkReader;
  private readonly templates = new TemplateLearner();
  private frame: FrameTemplate | null = null;

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
  ) {
    this.reader = new ChunkReader(call, state);
  }

  /**
   * @returns the chunk to forward, or `null` for an event that does not concern the client
   * @throws ProviderError for an error inside the stream, or an event that is not JSON
   */
  translate(event: Buffer): Buffer | null {
    const { state } = this;
    if (state.done) return null;
    if (this.frame !== null && state.finishReason === null) {
      const template = this.templates.match(event);
      if (template !== null) {
        state.generatedBytes += template.textBytes;
        return this.frame.around(event);
      }
    }
    return this.reader.isDone(event) ? null : this.translateParsed(event);
  }

  private translateParsed(event: Buffer): Buffer | null {
    const chunk = parseChunk(event);
    const read = this.reader.read(chunk);
    if (read === null) return null;
    // The first forwarded chunk carries the role, so it is not a template for the others.
    if (!read.isFirst) this.learn(event, chunk);
    return Buffer.from(`data: ${this.toJson(chunk, read)}\n\n`);
  }

  private toJson(chunk: JsonObject, { choice, delta, isFirst }: ReadChunk): string {
    const { id, created, finishReason } = this.state;
    const { logprobs } = choice;
    return JSON.stringify({
      id,
      object: 'chat.completion.chunk',
      created,
      model: this.call.publicModel,
      ...(typeof chunk['system_fingerprint'] === 'string' && { system_fingerprint: chunk['system_fingerprint'] }),
      ...(typeof chunk['service_tier'] === 'string' && { service_tier: chunk['service_tier'] }),
      choices: [
        {
          index: 0,
          delta: isFirst ? { role: 'assistant', ...delta } : delta,
          ...(logprobs !== undefined && { logprobs }),
          finish_reason: finishReason,
        },
      ],
    });
  }

  private learn(event: Buffer, chunk: JsonObject): void {
    const template = this.templates.learn(event, chunk);
    if (template === null) return;
    const { generatedBytes } = this.state;
    const read = this.reader.read(template.example);
    this.state.generatedBytes = generatedBytes;
    this.frame = read && FrameTemplate.of(template, this.toJson(template.example, read));
    if (this.frame === null) this.templates.forget();
  }
}
