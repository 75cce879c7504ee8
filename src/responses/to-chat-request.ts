import { ChatCompletionRequestDto } from '../chat/dto/chat-completion-request.dto';
import { GatewayError } from '../common/errors/gateway-error';
import { compileValidator } from '../common/validation/compiled-validator';
import type { ChatRequest } from '../providers/contract/chat';
import type { ResponseRequestDto } from './dto/response-request.dto';
import type { ResponseTextFormatDto } from './dto/response-text-options.dto';
import { RequestPaths } from './request-paths';
import { toChatMessages } from './to-chat-messages';
import { functionsOf, isFunctionChoice, toChatTool, toChatToolChoice } from './to-chat-tools';

export interface TranslatedRequest {
  readonly chat: ChatRequest;
  /** For errors that speak of `chat`. */
  readonly paths: RequestPaths;
}

const findIssues = compileValidator(ChatCompletionRequestDto);

/**
 * The chat completion that answers a request (contract 4.2.1). What comes out is valid for chat's own rules, so that
 * these are written once.
 * @throws GatewayError `validation_failed`, in the words of this request.
 */
export function toChatRequest(body: ResponseRequestDto): TranslatedRequest {
  const { messages, origins } = toChatMessages(body);
  const paths = new RequestPaths(body, origins);
  const chat: ChatRequest = {
    model: body.model,
    messages,
    ...(body.stream === true && { stream: true }),
    ...(body.max_output_tokens != null && { max_tokens: body.max_output_tokens }),
    ...(body.temperature != null && { temperature: body.temperature }),
    ...(body.top_p != null && { top_p: body.top_p }),
    ...(body.user != null && { user: body.user }),
    ...toolsOf(body),
    ...formatOf(body.text?.format),
  };
  const issues = findIssues(chat).map((issue) => paths.translate(issue));
  const [first] = issues;
  if (first === undefined) return { chat, paths };
  throw new GatewayError('validation_failed', first.message, { param: first.param, details: { issues } });
}

/** Upstreams refuse a choice, or a word on parallel calls, where there is nothing to call. */
function toolsOf({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ResponseRequestDto): object {
  const functions = functionsOf(tools);
  if (functions.length === 0) return {};
  return {
    tools: functions.map(toChatTool),
    ...(choice != null && isFunctionChoice(choice) && { tool_choice: toChatToolChoice(choice) }),
    ...(parallel != null && { parallel_tool_calls: parallel }),
  };
}

function formatOf(format: ResponseTextFormatDto | null | undefined): object {
  if (format == null || format.type === 'text') return {};
  const { type, name, description, schema, strict } = format as ResponseTextFormatDto & Record<string, unknown>;
  if (type !== 'json_schema') return { response_format: { type } };
  return { response_format: { type, json_schema: { name, description, schema, strict } } };
}
