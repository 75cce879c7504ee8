import type { InputItem } from '../providers/contract/chat';
import { isDataUrl } from '../providers/kit/data-url';
import type { ResponseInputItemDto, ResponseRequestDto } from './dto/response-request.dto';

type Fields = Readonly<Record<string, unknown>>;

/** Parts of messages and tool results by their type, and the fields of each that go upstream. */
const INPUT_PARTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['input_text', ['text']],
  ['input_image', ['image_url', 'detail']],
  ['input_file', ['filename', 'file_data']],
]);
const ANSWER_PARTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['output_text', ['text']],
  ['refusal', ['refusal']],
]);
/** Fields of a message that only chat has. */
const CHAT_FIELDS = ['name', 'refusal', 'tool_calls', 'tool_call_id'];
const ROLES: ReadonlySet<unknown> = new Set(['user', 'system', 'developer', 'assistant']);

/**
 * The conversation of a valid request as input items of an upstream that speaks the Responses API. Only fields that the
 * API document lists are copied: others could refer to data in the operator's account.
 * @returns `null` when a message or part is in chat format and needs translation
 */
export function toInputItems({ instructions, input }: ResponseRequestDto): readonly InputItem[] | null {
  const items: InputItem[] = [];
  // Sent as a message instead of `instructions`: JSON mode requires the word "json" in the input.
  if (instructions) items.push({ type: 'message', role: 'system', content: instructions });
  if (typeof input === 'string') return [...items, { type: 'message', role: 'user', content: input }];
  for (const given of input) {
    const item = toInputItem(given);
    if (item === null) return null;
    if (item !== 'ignored') items.push(item);
  }
  return items;
}

/** Whether the upstream would have to fetch an image. */
export function haveImageUrls(items: readonly InputItem[]): boolean {
  const parts = items.flatMap(({ content, output }) => [content, output]).flat() as readonly (Fields | undefined)[];
  return parts.some((part) => typeof part?.['image_url'] === 'string' && !isDataUrl(part['image_url']));
}

function toInputItem(item: ResponseInputItemDto): InputItem | 'ignored' | null {
  const type = item.type ?? 'message';
  switch (type) {
    case 'message':
      return toMessage(item as Fields);
    case 'function_call':
      return { type, ...fieldsOf(item as Fields, ['call_id', 'name', 'arguments']) };
    case 'custom_tool_call':
      return { type, ...fieldsOf(item as Fields, ['call_id', 'name', 'input']) };
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const output = toContent(item.output, INPUT_PARTS);
      return output === null ? null : { type, call_id: item.call_id, output };
    }
    default:
      return 'ignored';
  }
}

function toMessage(message: Fields): InputItem | null {
  const { role, phase } = message;
  if (!ROLES.has(role) || CHAT_FIELDS.some((field) => message[field] != null)) return null;
  const content = toContent(message['content'], role === 'assistant' ? ANSWER_PARTS : INPUT_PARTS);
  if (content === null) return null;
  return { type: 'message', role, content, ...(typeof phase === 'string' && { phase }) };
}

/** Returns `null` unless the content is a string or all parts are of these kinds. */
function toContent(content: unknown, kinds: typeof INPUT_PARTS): string | readonly Fields[] | null {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : null;
  const parts: Fields[] = [];
  for (const part of content as readonly Fields[]) {
    const { type } = part;
    const names = kinds.get(type);
    if (names === undefined) return null;
    parts.push({ type, ...fieldsOf(part, names) });
  }
  return parts;
}

function fieldsOf(given: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (given[name] == null ? [] : [[name, given[name]]])));
}
