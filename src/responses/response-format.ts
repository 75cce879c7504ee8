import type { ChatFormat } from '../chat/chat.service';
import { RenderedStream } from '../chat/chat-chunks';
import { chatOf, responsesOf } from '../inference/route-planner';
import type { Clock } from '../core/time/clock';
import type { GatewayError } from '../core/errors/gateway-error';
import type { Bill, Candidate, PricedText, RenderedAnswer } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import type {
  ChatCompletionResult,
  ChatRequest,
  ChunkStream,
  InputItem,
  ResponsesProvider,
  StreamProgress,
} from '../providers/contract/chat';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { ResponseEvents } from './response-events';
import { ResponseObject, withUsage } from './response-object';
import { type ChatAnswer, endedItems, incompleteReasonOf, toOutput } from './response-output';
import { haveImageUrls, toInputItems } from './to-input-items';

interface Direct {
  readonly responses: ResponsesProvider;
  readonly input: readonly InputItem[];
}

/**
 * Renders a chat model's reply as a response: JSON or events. A deployment that speaks the Responses API gets the
 * conversation as sent, and its items are returned unchanged, except for ids; any other deployment gets a chat.
 */
export class ResponseFormat implements ChatFormat {
  private readonly response: ResponseObject;
  private readonly events: ResponseEvents;

  constructor(
    private readonly body: ResponseRequestDto,
    requestId: string,
    private readonly clock: Clock,
  ) {
    this.response = new ResponseObject(body, requestId, this.nowSeconds());
    this.events = new ResponseEvents(this.response);
  }

  complete(candidate: Candidate, request: ChatRequest, call: ProviderCall): Promise<ChatCompletionResult> {
    const direct = this.directTo(candidate);
    return direct === null
      ? chatOf(candidate).complete(request, call)
      : direct.responses.respond(request, direct.input, call);
  }

  render({ body: { model, choices }, items: events = [] }: ChatCompletionResult, bill: Bill): RenderedAnswer {
    const [answer] = choices as [ChatAnswer];
    if (events.length > 0) this.events.translate(events, model);
    const { output } = this.events;
    const items = output.length > 0 ? output : toOutput(answer, this.response.key);
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

  async openStream(candidate: Candidate, request: ChatRequest, call: ProviderCall): Promise<ChunkStream> {
    const direct = this.directTo(candidate);
    const stream =
      direct === null
        ? await chatOf(candidate).openStream(request, call)
        : await direct.responses.openItemStream(request, direct.input, call);
    return new RenderedStream(stream, (events) => this.events.translate(events, call.publicModel));
  }

  lastEvents({ finishReason }: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
    return this.events.complete({ model, finishReason, endedAt: this.nowSeconds(), bill });
  }

  failureEvents(error: GatewayError, requestId: string): string {
    return this.events.fail(error, requestId);
  }

  /** `null`: the candidate gets the translated chat, which contains the images fetched for it. */
  private directTo(candidate: Candidate): Direct | null {
    const responses = responsesOf(candidate);
    if (responses === null) return null;
    const input = toInputItems(this.body);
    if (input === null || (candidate.quirks.inputImageUrls === 'inline' && haveImageUrls(input))) return null;
    return { responses, input };
  }

  private nowSeconds(): number {
    return Math.floor(this.clock.now() / 1000);
  }
}
