import { GatewayError } from '../common/errors/gateway-error';
import type { ValidationIssue } from '../common/validation/validation-issues';
import type { ResponseRequestDto } from './dto/response-request.dto';
import type { MessageOrigin } from './to-chat-messages';
import { isIgnored } from './to-chat-tools';

const MESSAGE = /^messages\[(\d+)\](.*)$/;
const TOOL_CALL = /^\.tool_calls\[(\d+)\](.*)$/;
const CONTENT = /^\.content(?:\[(\d+)\](.*))?$/;
const TOOL = /^tools\[(\d+)\](?:\.function)?(.*)$/;
const ALLOWED_TOOL = /^tool_choice\.allowed_tools\.tools\[(\d+)\](?:\.function)?(.*)$/;

/** Fields of a tool call, by what they are in an item `function_call`. */
const CALL_FIELDS: ReadonlyMap<string, string> = new Map([
  ['.id', '.call_id'],
  ['.function.name', '.name'],
  ['.function.arguments', '.arguments'],
]);

/** Beginnings of other paths; the first that fits is replaced. */
const OTHER_FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^messages$/, 'input'],
  [/^response_format(\.json_schema)?/, 'text.format'],
  [/^tool_choice\.(function|allowed_tools)/, 'tool_choice'],
  [/^max_(completion_)?tokens$/, 'max_output_tokens'],
];

/** Says where in a request the fault is that was found in its translation. */
export class RequestPaths {
  constructor(
    private readonly body: ResponseRequestDto,
    private readonly origins: readonly MessageOrigin[],
  ) {}

  translate({ param, message }: ValidationIssue): ValidationIssue {
    const own = this.toOwn(param);
    return { param: own, message: own === param ? message : message.replaceAll(param, own) };
  }

  /** What a provider says of a parameter, it says of the chat that it was asked. */
  translateError(error: unknown): unknown {
    if (!(error instanceof GatewayError) || error.param === undefined) return error;
    const { param, message } = this.translate({ param: error.param, message: error.message });
    if (param === error.param) return error;
    const { retryAfterSeconds, details, cause } = error;
    return new GatewayError(error.code, message, { param, retryAfterSeconds, details, cause });
  }

  private toOwn(path: string): string {
    const [, message, below = ''] = MESSAGE.exec(path) ?? [];
    if (message !== undefined) return this.ofMessage(Number(message), below);
    const { tools, tool_choice: choice } = this.body;
    const [, tool, inTool = ''] = TOOL.exec(path) ?? [];
    if (tool !== undefined) return `tools[${indexOfFunction(tools, Number(tool))}]${inTool}`;
    const [, allowed, inAllowed = ''] = ALLOWED_TOOL.exec(path) ?? [];
    if (allowed !== undefined && typeof choice === 'object') {
      return `tool_choice.tools[${indexOfFunction(choice?.['tools'], Number(allowed))}]${inAllowed}`;
    }
    const other = OTHER_FIELDS.find(([pattern]) => pattern.test(path));
    return other === undefined ? path : path.replace(...other);
  }

  private ofMessage(index: number, below: string): string {
    const origin = this.origins[index];
    if (origin === undefined) return 'input';
    const { path, callItems } = origin;
    // The path of a message that was plain text has nothing below it.
    if (!path.endsWith(']')) return path;
    const [, call, inCall = ''] = TOOL_CALL.exec(below) ?? [];
    const callItem = call === undefined ? undefined : callItems[Number(call)];
    if (callItem !== undefined) return `input[${callItem}]${CALL_FIELDS.get(inCall) ?? ''}`;
    return path + this.inItem(path, below);
  }

  /** Below an item: a result is `output` there, and parts of this format are flatter than those of chat. */
  private inItem(path: string, below: string): string {
    const item = this.itemAt(path);
    if (below === '.tool_call_id' && item?.['type'] === 'function_call_output') return '.call_id';
    const content = CONTENT.exec(below);
    if (content === null) return below;
    const [, index, inPart = ''] = content;
    const name = item?.['type'] === 'function_call_output' ? 'output' : 'content';
    if (index === undefined) return `.${name}`;
    const parts = item?.[name];
    const type = Array.isArray(parts) ? (parts[Number(index)] as { type?: unknown } | null)?.type : undefined;
    return `.${name}[${index}]${flatten(inPart, type)}`;
  }

  private itemAt(path: string): Readonly<Record<string, unknown>> | undefined {
    const { input } = this.body;
    const index = Number(path.slice('input['.length, -1));
    return typeof input === 'string' ? undefined : (input[index] as Record<string, unknown> | undefined);
  }
}

/** Where in a list the nth tool is that is not ignored. */
function indexOfFunction(tools: unknown, nth: number): number {
  const indexes = (Array.isArray(tools) ? tools : []).flatMap((tool, index) => (isIgnored(tool) ? [] : index));
  return indexes[nth] ?? nth;
}

function flatten(inPart: string, type: unknown): string {
  if (type === 'input_image') return inPart.replace(/^\.image_url\.url/, '.image_url').replace(/^\.image_url\./, '.');
  return type === 'input_file' ? inPart.replace(/^\.file/, '') : inPart;
}
