import { isUtf8 } from 'node:buffer';
import { isJsonObject, type JsonObject } from '../../kit/json';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const LOWER_U = 0x75;
/** Escapes of one character: `"`, `\`, `/`, b, f, n, r, t. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const TEXT_FIELDS = ['content', 'reasoning_content', 'reasoning'] as const;
/** Placeholder for the text while a template is learned; needs no escaping and never occurs in real text. */
const MARKER = '<text of the chunk, 6f1d2c>';
/** A template that matches fewer chunks than this was not worth learning. */
const WORTHWHILE_HITS = 8;
/** After this many poor templates the stream is assumed to vary in every chunk (padding, timestamps). */
const MAX_POOR_TEMPLATES = 4;

type TextField = (typeof TEXT_FIELDS)[number];

/**
 * The fast path of a stream. Successive text chunks of one upstream are the same bytes around a varying JSON string:
 * `head` text `tail`. The text of such an event is extracted without parsing the event.
 *
 * Why this is safe: head and tail were parsed once around a marker, and the chunk contained only that text. So with any
 * other valid JSON string between them, they parse to the same chunk with the other text.
 */
export class ContentTemplate {
  /** UTF-8 bytes of the text in the last event that matched. */
  textBytes = 0;

  private constructor(
    readonly field: TextField,
    /** The chunk with a marker as its text. */
    readonly example: JsonObject,
    readonly head: Buffer,
    readonly tail: Buffer,
  ) {}

  /**
   * @param event bytes of an event, `chunk` the parsed event
   * @returns `null` when the chunk contains more than plain text
   */
  static learn(event: Buffer, chunk: JsonObject): ContentTemplate | null {
    const field = textFieldOf(chunk);
    if (field === null) return null;
    const raw = event.toString('utf8');
    const start = textStart(raw, field);
    if (start < 0) return null;
    const head = raw.slice(0, start);
    const tail = raw.slice(stringEnd(raw, start));
    const example = parseExample(head + MARKER + tail, field);
    return example && new ContentTemplate(field, example, Buffer.from(head), Buffer.from(tail));
  }

  /** Whether the event has this shape. */
  matches(event: Buffer): boolean {
    const { head, tail } = this;
    const start = head.length;
    const end = event.length - tail.length;
    if (end < start) return false;
    if (head.compare(event, 0, start) !== 0 || tail.compare(event, end) !== 0) return false;
    const textBytes = countTextBytes(event, start, end);
    this.textBytes = textBytes;
    return textBytes >= 0;
  }

  /** The text of an event that matches. */
  textOf(event: Buffer): string {
    // The head ends, and the tail begins, with a quote of the string.
    return JSON.parse(event.toString('utf8', this.head.length - 1, event.length - this.tail.length + 1)) as string;
  }
}

/** The template of one stream, replaced as the shape of its chunks changes. */
export class TemplateLearner {
  private template: ContentTemplate | null = null;
  private hits = 0;
  private poorTemplates = 0;

  /** The template if it matches the event. */
  match(event: Buffer): ContentTemplate | null {
    if (this.template === null || !this.template.matches(event)) return null;
    this.hits++;
    return this.template;
  }

  /** The new template; `null`: nothing was learned. */
  learn(event: Buffer, chunk: JsonObject): ContentTemplate | null {
    if (this.poorTemplates >= MAX_POOR_TEMPLATES) return null;
    const learned = ContentTemplate.learn(event, chunk);
    if (learned === null) return null;
    if (this.template !== null && this.hits < WORTHWHILE_HITS) this.poorTemplates++;
    this.template = learned;
    this.hits = 0;
    return learned;
  }

  forget(): void {
    this.template = null;
  }
}

/** Our own chunk around the unchanged text of an event. */
export class FrameTemplate {
  private constructor(
    private readonly template: ContentTemplate,
    private readonly head: Buffer,
    private readonly tail: Buffer,
  ) {}

  /** @param json what the template's example translates to; @returns `null` unless it holds the text unchanged, once */
  static of(template: ContentTemplate, json: string): FrameTemplate | null {
    const frame = `data: ${json}\n\n`;
    const at = frame.indexOf(MARKER);
    if (at < 0 || frame.lastIndexOf(MARKER) !== at) return null;
    const tail = frame.slice(at + MARKER.length);
    return new FrameTemplate(template, Buffer.from(frame.slice(0, at)), Buffer.from(tail));
  }

  /** The chunk for an event that matches. */
  around(event: Buffer): Buffer {
    const { head, tail, template } = this;
    const start = template.head.length;
    const end = event.length - template.tail.length;
    const length = end - start;
    const frame = Buffer.allocUnsafe(head.length + length + tail.length);
    frame.set(head, 0);
    event.copy(frame, head.length, start, end);
    frame.set(tail, head.length + length);
    return frame;
  }
}

/**
 * UTF-8 bytes of the text that a JSON string body encodes, or -1 when the bytes are not such a body: an unescaped
 * quote, a control character, invalid UTF-8, or a `\u` escape (rare, and left to the parsed path).
 */
function countTextBytes(bytes: Buffer, start: number, end: number): number {
  let escapes = 0;
  let ascii = true;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE || byte < FIRST_PRINTABLE) return -1;
    if (byte >= 0x80) ascii = false;
    if (byte !== BACKSLASH) continue;
    i++;
    const escaped = bytes[i] ?? 0;
    if (i >= end || escaped === LOWER_U || !SIMPLE_ESCAPES.has(escaped)) return -1;
    escapes++;
  }
  if (!ascii && !isUtf8(bytes.subarray(start, end))) return -1;
  return end - start - escapes;
}

/** The only text field of a chunk without finish reason, usage, tool calls and log probabilities; otherwise `null`. */
function textFieldOf(chunk: JsonObject): TextField | null {
  const { choices } = chunk;
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice['delta'])) return null;
  if (choice['finish_reason'] != null || choice['logprobs'] != null) return null;
  if (chunk['usage'] != null || chunk['x_groq'] != null) return null;
  const { role: _role, ...delta } = choice['delta'];
  const texts = TEXT_FIELDS.filter((field) => typeof delta[field] === 'string');
  const rest = Object.entries(delta).filter(
    ([field, value]) => !texts.some((text) => text === field) && value !== null,
  );
  return texts.length === 1 && rest.length === 0 ? (texts[0] ?? null) : null;
}

/** Where the text of `field` begins in the raw JSON; with or without a blank after the colon. */
function textStart(raw: string, field: string): number {
  for (const opening of [`"${field}":"`, `"${field}": "`]) {
    const at = raw.indexOf(opening);
    if (at >= 0) return at + opening.length;
  }
  return -1;
}

function stringEnd(raw: string, start: number): number {
  let end = start;
  while (end < raw.length && raw[end] !== '"') end += raw[end] === '\\' ? 2 : 1;
  return end;
}

/** Parses head, marker and tail; `null` unless the marker ended up as the whole text of `field`. */
function parseExample(raw: string, field: string): JsonObject | null {
  const example: unknown = JSON.parse(raw);
  if (!isJsonObject(example) || textFieldOf(example) !== field) return null;
  const [choice] = example['choices'] as [{ delta: JsonObject }];
  return choice.delta[field] === MARKER ? example : null;
}
