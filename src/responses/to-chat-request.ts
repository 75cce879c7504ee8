import { ChatCompletionRequestDto } from '../chat/dto/chat-completion-request.dto';
import { GatewayError } from '../core/errors/gateway-error';
import { compileValidator } from '../core/validation/valid-body.pipe';
import type { ChatRequest } from '../providers/contract/chat';
import type { ResponseRequestDto, ResponseTextFormatDto } from './dto/response-request.dto';
import { RequestPaths } from './request-paths';
import { toChatMessages } from './to-chat-messages';
import { clientToolsOf, isClientChoice, toChatTool, toChatToolChoice } from './to-chat-tools';

export interface TranslatedRequest {
  readonly chat: ChatRequest;
  /** Maps error paths in `chat` to the request. */
  readonly paths: RequestPaths;
}

const findIssues = compileValidator(ChatCompletionRequestDto);

/**
 * Translates a request to a chat completion. The result is validated with the chat rules, which have no second copy.
 * @throws GatewayError `validation_failed`, with paths of this request.
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
    ...(body.presence_penalty != null && { presence_penalty: body.presence_penalty }),
    ...(body.frequency_penalty != null && { frequency_penalty: body.frequency_penalty }),
    ...(body.reasoning?.effort != null && { reasoning_effort: body.reasoning.effort }),
    ...(body.text?.verbosity != null && { verbosity: body.text.verbosity }),
    ...(body.service_tier != null && { service_tier: body.service_tier }),
    ...(body.user != null && { user: body.user }),
    ...(body.safety_identifier != null && { safety_identifier: body.safety_identifier }),
    ...(body.prompt_cache_key != null && { prompt_cache_key: body.prompt_cache_key }),
    ...(body.prompt_cache_retention != null && { prompt_cache_retention: body.prompt_cache_retention }),
    ...(body.prompt_cache_options != null && { prompt_cache_options: body.prompt_cache_options }),
    ...toolsOf(body),
    ...formatOf(body.text?.format),
  };
  const issues = findIssues(chat).map((issue) => paths.translate(issue));
  const [first] = issues;
  if (first === undefined) return { chat, paths };
  throw new GatewayError('validation_failed', first.message, { param: first.param, details: { issues } });
}

/** Upstreams reject `tool_choice` and `parallel_tool_calls` without tools. */
function toolsOf({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ResponseRequestDto): object {
  const clientTools = clientToolsOf(tools);
  if (clientTools.length === 0) return {};
  return {
    tools: clientTools.map(toChatTool),
    ...(choice != null && isClientChoice(choice) && { tool_choice: toChatToolChoice(choice) }),
    ...(parallel != null && { parallel_tool_calls: parallel }),
  };
}

function formatOf(format: ResponseTextFormatDto | null | undefined): object {
  if (format == null || format.type === 'text') return {};
  const { type, name, description, schema, strict } = format as ResponseTextFormatDto & Record<string, unknown>;
  if (type !== 'json_schema') return { response_format: { type } };
  return { response_format: { type, json_schema: { name, description, schema, strict } } };
}
