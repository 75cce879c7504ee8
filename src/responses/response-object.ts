import type { Bill, PricedText } from '../inference/inference.types';
import { inputTokensOf, outputTokensOf } from '../providers/contract/usage';
import type { ResponseRequestDto, ResponseTextFormatDto, ResponseToolDto } from './dto/response-request.dto';
import { clientToolsOf, formatOf, isClientChoice } from './to-chat-tools';

/** The state of a response. */
export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  /** The serving model. */
  readonly model: string;
  /** The output items as JSON, separated by commas. */
  readonly output: string;
  /** Unix seconds. */
  readonly completedAt?: number;
  readonly incompleteReason?: IncompleteReason;
  /** Public error message. */
  readonly failure?: string;
}

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** The format's generic code; the gateway's codes are in the error envelope. */
const FAILURE_CODE = 'server_error';

/** The response of one request, with the keys and types of Open Responses. */
export class ResponseObject {
  /** Shared part of the response and item ids: the request id without its prefix. */
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
    // Serialized up to three times instead of cached: instructions and tools can be long, and streams can last long.
    const settings = JSON.stringify(settingsOf(this.body)).slice(1, -1);
    return (
      `${this.head},"completed_at":${completedAt ?? 'null'},"status":"${status}","error":${error}` +
      `,"incomplete_details":${details},"model":${JSON.stringify(model)},"output":[${output}],${settings},"usage":`
    );
  }

  /** The response as JSON without usage. */
  json(state: ResponseState): string {
    return `${this.jsonBeforeUsage(state)}null}`;
  }
}

/** The effective settings, with fixed values for unsupported ones. */
function settingsOf(body: ResponseRequestDto): object {
  const clientTools = clientToolsOf(body.tools);
  const { tool_choice: choice, text, reasoning } = body;
  return {
    previous_response_id: null,
    instructions: body.instructions ?? null,
    tools: clientTools.map(toTool),
    tool_choice: choice != null && clientTools.length > 0 && isClientChoice(choice) ? choice : 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    text: { format: toFormat(text?.format), ...(text?.verbosity != null && { verbosity: text.verbosity }) },
    max_output_tokens: body.max_output_tokens ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    reasoning: reasoning?.effort == null ? null : { effort: reasoning.effort, summary: null },
    truncation: 'disabled',
    max_tool_calls: null,
    store: false,
    background: false,
    service_tier: body.service_tier ?? 'default',
    metadata: body.metadata ?? {},
    user: body.user ?? null,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  };
}

/** The format with every key that the response schema requires. */
function toFormat(format: ResponseTextFormatDto | null | undefined): object {
  if (format == null) return { type: 'text' };
  return format.type === 'json_schema' ? { description: null, strict: false, ...format } : format;
}

function toTool(tool: ResponseToolDto): object {
  const { type, name, description = null, parameters = null, strict = null } = tool;
  if (type === 'custom') return { type, name, description, format: formatOf(tool) ?? { type: 'text' } };
  return { type, name, description, parameters, strict };
}

/** Adds usage, with a gap for the cost as its last field. `ending` closes the enclosing event. */
export function withUsage(jsonBeforeUsage: string, { usage, usageEstimated }: Bill, ending: string): PricedText {
  const input = inputTokensOf(usage);
  const output = outputTokensOf(usage);
  const json = JSON.stringify({
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.inputCacheRead,
      cache_write_tokens: usage.inputCacheWrite5m + usage.inputCacheWrite1h,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.outputReasoning },
    total_tokens: input + output,
    ...(usageEstimated && { x_llm_usage_estimated: true }),
  });
  return { head: `${jsonBeforeUsage}${json.slice(0, -1)},"x_llm_cost_micro":`, tail: `}}${ending}` };
}
