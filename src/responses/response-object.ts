import type { ResponseRequestDto } from './dto/response-request.dto';
import { functionsOf, isFunctionChoice } from './to-chat-tools';

/** How far a response is. */
export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  /** The model that answers. */
  readonly model: string;
  /** The items of the answer as JSON, separated by commas. */
  readonly output: string;
  /** Unix seconds. */
  readonly completedAt?: number;
  readonly incompleteReason?: IncompleteReason;
  /** Public. */
  readonly failure?: string;
}

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Our codes are in the error envelope; the format has a list of its own, and this is its word for all of them. */
const FAILURE_CODE = 'server_error';

/** The response of one request (contract 2.4), with the keys that strict clients look for, null where unset. */
export class ResponseObject {
  /** What the ids of the response and of its items have in common: the digits of the request's own id. */
  readonly key: string;
  private readonly head: string;

  /** @param createdAt Unix seconds */
  constructor(
    private readonly body: ResponseRequestDto,
    requestId: string,
    createdAt: number,
  ) {
    this.key = requestId.slice(requestId.indexOf('_') + 1);
    this.head = `{"id":"resp_${this.key}","object":"response","created_at":${createdAt}`;
  }

  /** The response as JSON up to the value of `usage`, its last field. */
  jsonBeforeUsage({ status, model, output, completedAt, incompleteReason, failure }: ResponseState): string {
    const details = incompleteReason === undefined ? 'null' : `{"reason":"${incompleteReason}"}`;
    const error = failure === undefined ? 'null' : JSON.stringify({ code: FAILURE_CODE, message: failure });
    // Written anew each time, at most three times: instructions and tools can be long, and answers take their time.
    const settings = JSON.stringify(settingsOf(this.body)).slice(1, -1);
    return (
      `${this.head},"completed_at":${completedAt ?? 'null'},"status":"${status}","error":${error}` +
      `,"incomplete_details":${details},"model":${JSON.stringify(model)},"output":[${output}],${settings},"usage":`
    );
  }

  /** The response as JSON while there is no usage to tell. */
  json(state: ResponseState): string {
    return `${this.jsonBeforeUsage(state)}null}`;
  }
}

/** What was asked for as it was heeded, and what is not offered. */
function settingsOf(body: ResponseRequestDto): object {
  const functions = functionsOf(body.tools);
  const { tool_choice: choice, text } = body;
  return {
    previous_response_id: null,
    instructions: body.instructions ?? null,
    tools: functions.map(({ type, name, description, parameters, strict }) => {
      return { type, name, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
    }),
    tool_choice: choice != null && functions.length > 0 && isFunctionChoice(choice) ? choice : 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    text: { format: text?.format ?? { type: 'text' } },
    max_output_tokens: body.max_output_tokens ?? null,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    presence_penalty: null,
    frequency_penalty: null,
    top_logprobs: null,
    reasoning: null,
    truncation: 'disabled',
    max_tool_calls: null,
    store: false,
    background: false,
    service_tier: null,
    metadata: body.metadata ?? {},
    safety_identifier: null,
    prompt_cache_key: null,
  };
}
