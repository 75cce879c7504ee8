import { GatewayError } from '../core/errors/gateway-error';
import type { ValidationIssue } from '../core/validation/validation-issues';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { isCallOutput, type MessageOrigin } from './to-chat-messages';
import { isIgnored } from './to-chat-tools';

const MESSAGE = /^messages\[(\d+)\](.*)$/;
const TOOL_CALL = /^\.tool_calls\[(\d+)\](.*)$/;
const CONTENT = /^\.content(?:\[(\d+)\](.*))?$/;
/** A part of a tool result. */
const PART = /^(input\[\d+\])\.output\[(\d+)\]$/;
const PART_TYPE = /^(input\[\d+\])\.(content|output)\[\d+\]\.type$/;
/** The end of a message that lists what is accepted. */
const LISTED_VALUES = /(?<=following values: ).*$/;
const TOOL = /^tools\[(\d+)\](?:\.(?:function|custom))?(.*)$/;
const ALLOWED_TOOL = /^tool_choice\.allowed_tools\.tools\[(\d+)\](?:\.(?:function|custom))?(.*)$/;

/** Fields of a chat tool call and their names in a `function_call` or `custom_tool_call` item. */
const CALL_FIELDS: ReadonlyMap<string, string> = new Map([
  ['.id', '.call_id'],
  ['.function.name', '.name'],
  ['.function.arguments', '.arguments'],
  ['.custom.name', '.name'],
  ['.custom.input', '.input'],
]);

/** Prefixes of other paths; the first match is replaced. */
const OTHER_FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^messages$/, 'input'],
  [/^response_format(\.json_schema)?/, 'text.format'],
  [/^tool_choice\.(function|custom|allowed_tools)/, 'tool_choice'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^verbosity$/, 'text.verbosity'],
  [/^max_(completion_)?tokens$/, 'max_output_tokens'],
];

/** Maps error paths of the translated chat request back to the original request. */
export class RequestPaths {
  constructor(
    private readonly body: ResponseRequestDto,
    private readonly origins: readonly MessageOrigin[],
  ) {}

  translate({ param, message }: ValidationIssue): ValidationIssue {
    const own = this.toOwn(param);
    if (own === param) return { param, message };
    return { param: own, message: this.listOwnTypes(own, message.replaceAll(param, own)) };
  }

  /** Translates the path in a provider error, which refers to the chat request. */
  translateError<Thrown>(error: Thrown): Thrown | GatewayError {
    if (!(error instanceof GatewayError) || error.param === undefined) return error;
    const { param, message } = this.translate({ param: error.param, message: error.message });
    if (param === error.param) return error;
    const { retryAfterSeconds, details, cause } = error;
    return new GatewayError(error.code, message, { param, retryAfterSeconds, details, cause });
  }

  /** Replaces the part types of chat in the message with this format's names. */
  private listOwnTypes(path: string, message: string): string {
    const [, item, field] = PART_TYPE.exec(path) ?? [];
    if (item === undefined) return message;
    const isAnswer = this.itemAt(item)?.['role'] === 'assistant';
    return message.replace(LISTED_VALUES, (chatTypes) => {
      const types = chatTypes.split(', ').map((type) => toOwnType(type, isAnswer));
      // Chat has no images in results; they are moved to a message.
      return [...types, ...(field === 'output' ? ['input_image'] : [])].join(', ');
    });
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
    const { path, callItems, partPaths } = origin;
    const [, part, inPart = ''] = (partPaths && CONTENT.exec(below)) ?? [];
    const partPath = partPaths?.[Number(part)];
    if (partPath !== undefined) return partPath + flatten(inPart, this.partTypeAt(partPath));
    // The path of a plain-text message has no members.
    if (!path.endsWith(']')) return path;
    const [, call, inCall = ''] = TOOL_CALL.exec(below) ?? [];
    const callItem = call === undefined ? undefined : callItems[Number(call)];
    if (callItem !== undefined) return `input[${callItem}]${CALL_FIELDS.get(inCall) ?? ''}`;
    return path + this.inItem(path, below);
  }

  /** Maps a path within an item: results are in `output`, and parts are less nested than in chat. */
  private inItem(path: string, below: string): string {
    const item = this.itemAt(path);
    const isOutput = isCallOutput(item?.['type']);
    if (below === '.tool_call_id' && isOutput) return '.call_id';
    const content = CONTENT.exec(below);
    if (content === null) return below;
    const [, index, inPart = ''] = content;
    const name = isOutput ? 'output' : 'content';
    if (index === undefined) return `.${name}`;
    const parts = item?.[name];
    const type = Array.isArray(parts) ? (parts[Number(index)] as { type?: unknown } | null)?.type : undefined;
    return `.${name}[${index}]${flatten(inPart, type)}`;
  }

  /** @param path `input[i].output[j]` */
  private partTypeAt(path: string): unknown {
    const [, itemPath = '', index] = PART.exec(path) ?? [];
    const parts = this.itemAt(itemPath)?.['output'];
    return Array.isArray(parts) ? (parts[Number(index)] as { type?: unknown } | null)?.type : undefined;
  }

  private itemAt(path: string): Readonly<Record<string, unknown>> | undefined {
    const { input } = this.body;
    const index = Number(path.slice('input['.length, -1));
    return typeof input === 'string' ? undefined : (input[index] as Record<string, unknown> | undefined);
  }
}

/** The index of the nth tool that is not ignored. */
function indexOfFunction(tools: unknown, nth: number): number {
  const indexes = (Array.isArray(tools) ? tools : []).flatMap((tool, index) => (isIgnored(tool) ? [] : index));
  return indexes[nth] ?? nth;
}

function toOwnType(chatType: string, isAnswer: boolean): string {
  switch (chatType) {
    case 'text':
      return isAnswer ? 'output_text' : 'input_text';
    case 'image_url':
      return 'input_image';
    case 'file':
      return 'input_file';
    default:
      return chatType;
  }
}

function flatten(inPart: string, type: unknown): string {
  if (type === 'input_image') return inPart.replace(/^\.image_url\.url/, '.image_url').replace(/^\.image_url\./, '.');
  return type === 'input_file' ? inPart.replace(/^\.file/, '') : inPart;
}
