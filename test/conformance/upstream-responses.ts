/** Replies and events of an upstream that speaks the Responses API, in the types of the official client. */
import type {
  Response,
  ResponseCreatedEvent,
  ResponseError,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseOutputText,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import { sse } from './chat-chunks';

type Event = ResponseStreamEvent;

export const USAGE: ResponseUsage = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 42,
};

/** A response of the upstream; by default one that has completed without output. */
export function response(overrides: Partial<Response> = {}): Response {
  return {
    id: 'resp_up',
    object: 'response',
    created_at: 1700000000,
    status: 'completed',
    model: 'upstream-model',
    output: [],
    output_text: '',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: 'auto',
    tools: [],
    access_programs: null,
    usage: USAGE,
    ...overrides,
  };
}

export const outputText = (text: string, extra: Partial<ResponseOutputText> = {}): ResponseOutputText => ({
  type: 'output_text',
  text,
  annotations: [],
  ...extra,
});

export const message = (
  content: ResponseOutputMessage['content'],
  phase?: ResponseOutputMessage['phase'],
): ResponseOutputMessage => ({
  id: 'msg_up',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content,
  ...(phase !== undefined && { phase }),
});

export const reasoning = (sealed: string, summary: readonly string[] = []): ResponseReasoningItem => ({
  id: `rs_${sealed}`,
  type: 'reasoning',
  summary: summary.map((text) => ({ type: 'summary_text', text })),
  encrypted_content: sealed,
});

export const functionCall = (id: string, name: string, args: string): ResponseFunctionToolCall => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: args,
});

/** Events without their sequence numbers, which `stream` adds. */
type Unnumbered<E extends { sequence_number: number }> = E extends unknown ? Omit<E, 'sequence_number'> : never;
export type Step = Unnumbered<Event>;

export const created = (overrides: Partial<Response> = {}): Step => ({
  type: 'response.created',
  response: response({ status: 'in_progress', ...overrides, usage: undefined }) as ResponseCreatedEvent['response'],
});

export const textDelta = (delta: string, place = 0): Step => ({
  type: 'response.output_text.delta',
  item_id: `item_${place}`,
  output_index: place,
  content_index: 0,
  delta,
  logprobs: [],
});

export const added = (item: ResponseOutputItem, place: number): Step => ({
  type: 'response.output_item.added',
  output_index: place,
  item,
});

export const done = (item: ResponseOutputItem, place: number): Step => ({
  type: 'response.output_item.done',
  output_index: place,
  item,
});

/** A call as it streams: begun, its arguments in pieces, complete. */
export function callSteps(id: string, name: string, pieces: readonly string[], place: number): Step[] {
  const whole = functionCall(id, name, pieces.join(''));
  return [
    added({ ...whole, status: 'in_progress', arguments: '' }, place),
    ...pieces.map((delta): Step => ({
      type: 'response.function_call_arguments.delta',
      item_id: `fc_${id}`,
      output_index: place,
      delta,
    })),
    done(whole, place),
  ];
}

/** A reasoning item as it streams, with its summary in pieces. */
export function reasoningSteps(sealed: string, summary: readonly (readonly string[])[], place: number): Step[] {
  const at = { item_id: `rs_${sealed}`, output_index: place };
  return [
    added({ ...reasoning('partial'), id: `rs_${sealed}` }, place),
    ...summary.flatMap((pieces, part): Step[] => [
      {
        type: 'response.reasoning_summary_part.added',
        ...at,
        summary_index: part,
        part: { type: 'summary_text', text: '' },
      },
      ...pieces.map((delta): Step => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        summary_index: part,
        delta,
      })),
    ]),
    done(
      reasoning(
        sealed,
        summary.map((pieces) => pieces.join('')),
      ),
      place,
    ),
  ];
}

export const completed = (overrides: Partial<Response> = {}): Step => ({
  type: 'response.completed',
  response: response(overrides),
});

export const incomplete = (reason: NonNullable<Response['incomplete_details']>['reason']): Step => ({
  type: 'response.incomplete',
  response: response({ status: 'incomplete', incomplete_details: { reason } }),
});

export const failed = (code: ResponseError['code']): Step => ({
  type: 'response.failed',
  response: response({ status: 'failed', error: { code, message: 'org-Secret123' } }),
});

/** The bytes of a stream, with event lines as the upstream writes them. */
export const stream = (...steps: readonly Step[]): string =>
  steps.map((step, index) => `event: ${step.type}\n${sse({ ...step, sequence_number: index })}`).join('');
