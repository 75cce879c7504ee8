import { Inject, Injectable } from '@nestjs/common';
import { type Answer, EventStream } from '../core/http/answer';
import { ChatInference } from '../chat/chat.service';
import { CLOCK, type Clock } from '../core/time/clock';
import type { RequestContext } from '../core/types/request-context';
import type { ExplainedRequest } from '../inference/explanation.types';
import type { Candidate } from '../inference/inference.types';
import { toClientError } from '../inference/provider-failure';
import type { ResponseRequestDto } from './dto/response-request.dto';
import type { RequestPaths } from './request-paths';
import { ResponseFormat } from './response-format';
import { toChatRequest } from './to-chat-request';

const OPERATION = 'createResponse';

/** `POST /v1/responses`: runs as chat and translates the reply. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly inference: ChatInference,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async answer(body: ResponseRequestDto, context: RequestContext): Promise<Answer> {
    const { chat, paths } = toChatRequest(body);
    const format = new ResponseFormat(body, context.requestId, this.clock);
    try {
      const answer = await this.inference.answer({ operation: OPERATION, body, chat, context, format });
      return answer instanceof EventStream ? withPaths(answer, paths) : answer;
    } catch (error) {
      throw paths.translateError(error);
    }
  }

  /** The parsed request for explain. @throws GatewayError as {@link answer} before it calls a provider */
  describe(body: ResponseRequestDto, context: RequestContext): ExplainedRequest {
    const { chat, paths } = toChatRequest(body);
    const withOwnPaths = <Result>(work: () => Result): Result => {
      try {
        return work();
      } catch (error) {
        throw paths.translateError(toClientError(error));
      }
    };
    const described = withOwnPaths(() => this.inference.describe({ operation: OPERATION, body, chat, context }));
    return {
      ...described,
      assertSupportedBy: (candidate: Candidate) => withOwnPaths(() => described.assertSupportedBy?.(candidate)),
    };
  }
}

/** Translates paths in errors of a stream, which calls its provider only while it is sent. */
function withPaths({ produce, billed, failureEvents }: EventStream, paths: RequestPaths): EventStream {
  return new EventStream(
    (output) =>
      produce(output).catch((error: unknown) => {
        throw paths.translateError(error);
      }),
    billed,
    (failure) => failureEvents(paths.translateError(failure)),
  );
}
