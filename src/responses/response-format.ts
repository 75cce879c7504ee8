import type { ChatFormat } from '../chat/chat-inference.service';
import { RenderedStream } from '../chat/chat-chunks';
import type { Clock } from '../core/time/clock';
import type { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText, RenderedAnswer } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import type {
  ChatCompletionResult,
  ChatProvider,
  ChatRequest,
  ChunkStream,
  StreamProgress,
} from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { ResponseEvents } from './response-events';
import { ResponseObject, withUsage } from './response-object';
import { type ChatAnswer, endedItems, incompleteReasonOf, toOutput } from './response-output';

/** A chat model's reply as one response: JSON or events. */
export class ResponseFormat implements ChatFormat {
  private readonly response: ResponseObject;
  private readonly events: ResponseEvents;

  constructor(
    body: ResponseRequestDto,
    requestId: string,
    private readonly clock: Clock,
  ) {
    this.response = new ResponseObject(body, requestId, this.nowSeconds());
    this.events = new ResponseEvents(this.response);
  }

  render({ body: { model, choices } }: ChatCompletionResult, bill: Bill): RenderedAnswer {
    const [answer] = choices as [ChatAnswer];
    const items = toOutput(answer, this.response.key);
    const incompleteReason = incompleteReasonOf(answer.finish_reason);
    const cutShort = incompleteReason !== undefined;
    const json = this.response.jsonBeforeUsage({
      status: cutShort ? 'incomplete' : 'completed',
      model,
      output: endedItems(items, cutShort),
      completedAt: cutShort ? undefined : this.nowSeconds(),
      incompleteReason,
    });
    return { contentType: 'application/json; charset=utf-8', ...withUsage(json, bill, '') };
  }

  async openStream(chat: ChatProvider, request: ChatRequest, call: ProviderCall): Promise<ChunkStream> {
    const stream = await chat.openStream(request, call);
    return new RenderedStream(stream, (events) => this.events.translate(events, call.publicModel));
  }

  lastEvents({ finishReason }: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
    return this.events.complete({ model, finishReason, endedAt: this.nowSeconds(), bill });
  }

  failureEvents(error: GatewayError, requestId: string): string {
    return this.events.fail(error, requestId);
  }

  private nowSeconds(): number {
    return Math.floor(this.clock.now() / 1000);
  }
}
