import { crc32 } from 'node:zlib';
import type { ChatMessage, ChatRequest } from '../../contract/chat';

/** The parts of a request's messages that the mock uses. */
export interface Conversation {
  /** The last user message: white space collapsed, shortened when long. */
  readonly prompt: string;
  /** Attachments of the prompt, for example `['an image']`. */
  readonly attachments: readonly string[];
  /** Not empty when the conversation ends with results of tools. */
  readonly toolResults: readonly ToolResult[];
  /** The names of the tools called since the last user message. */
  readonly calledTools: ReadonlySet<unknown>;
  /** Equal for equal messages. */
  readonly seed: number;
  readonly promptTokens: number;
}

interface ToolResult {
  readonly name: string;
  readonly text: string;
}

const IMAGE_TOKENS = 85;
const READ_LENGTH = 2_000;
const ATTACHMENTS: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'an image'],
  ['input_audio', 'a recording'],
  ['file', 'a file'],
]);

/** A capitalised word that does not begin a sentence, and those that follow it: `New York`. */
const NAME = /(?<=[\p{L}\p{N},;:] )\p{Lu}[\p{L}\p{M}'’-]+(?: \p{Lu}[\p{L}\p{M}'’-]+){0,2}/gu;
const NUMBER = /(?<![\p{L}\d.])-?\d{1,9}(?:\.\d{1,6})?/gu;
const PROSE_NAME = /quer|question|prompt|input|search|text|content|answer|summary|reason|description|message/i;

/** Values from the prompt, so that "What is the weather in Paris?" fills in the city "Paris". */
export class PromptValues {
  private readonly names: readonly string[];
  private readonly numbers: readonly number[];

  constructor(private readonly prompt: string) {
    this.names = prompt.match(NAME) ?? [];
    this.numbers = (prompt.match(NUMBER) ?? []).map(Number);
  }

  /** @param index of the element within an array */
  text(propertyName: string, index: number): string {
    if (PROSE_NAME.test(propertyName) && this.prompt !== '') return this.prompt;
    const text = this.names[0] ?? propertyName.replaceAll('_', ' ');
    return this.names[index] ?? (index === 0 ? text : `${text} ${index + 1}`);
  }

  number(index: number): number | undefined {
    return this.numbers[index];
  }

  isMentioned(value: unknown): boolean {
    return typeof value === 'string' && value !== '' && this.prompt.toLowerCase().includes(value.toLowerCase());
  }
}

/** The text of the last user message, which may contain directives, and its place in the request. */
export function lastUserText({ messages }: ChatRequest): { readonly text: string; readonly param: string } {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const message = messages[index];
  return { text: message === undefined ? '' : textOf(message), param: `messages[${index}].content` };
}

/** @param prompt the last user message without its directives */
export function readConversation({ messages, tools, seed }: ChatRequest, prompt: string): Conversation {
  const texts = messages.map(textOf);
  const calls = messages.flatMap(({ tool_calls: called }) => called ?? []);
  const other = [tools, ...calls].filter((part) => part != null).map((part) => JSON.stringify(part));
  const images = messages.flatMap(partsOf).filter(({ type }) => type === 'image_url');
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const user = messages[lastUser];
  return {
    prompt: collapse(prompt),
    attachments: user === undefined ? [] : partsOf(user).flatMap(({ type }) => ATTACHMENTS.get(type) ?? []),
    toolResults: trailingToolResults(messages),
    calledTools: calledIn(messages.slice(lastUser + 1)),
    seed: texts.reduce((hash, text) => hashText(text, hash), typeof seed === 'number' ? seed >>> 0 : 0),
    promptTokens: Math.max(1, promptTokensOf([...texts, ...other]) + IMAGE_TOKENS * images.length),
  };
}

function textOf(message: ChatMessage): string {
  if (typeof message.content === 'string') return message.content;
  const texts = partsOf(message).flatMap(({ text }) => (typeof text === 'string' ? text : []));
  return texts.join(' ');
}

function partsOf({ content }: ChatMessage): readonly Record<string, unknown>[] {
  return Array.isArray(content) ? content : [];
}

function collapse(text: string): string {
  return headOf(text, READ_LENGTH).replace(/\s+/g, ' ').trim();
}

/** Results after the last assistant message, each with the name of the called function. */
function trailingToolResults(messages: readonly ChatMessage[]): ToolResult[] {
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  const calls = messages[last]?.tool_calls;
  const names = new Map<unknown, string>();
  for (const { id, function: called } of (Array.isArray(calls) ? calls : []) as Record<string, unknown>[]) {
    names.set(id, String((called as { readonly name?: unknown } | undefined)?.name ?? 'The tool'));
  }
  return messages.slice(last + 1).map((message) => ({
    name: names.get(message.tool_call_id) ?? 'The tool',
    text: collapse(textOf(message)),
  }));
}

function calledIn(messages: readonly ChatMessage[]): ReadonlySet<unknown> {
  const calls = messages.flatMap(({ tool_calls: called }) => (Array.isArray(called) ? (called as unknown[]) : []));
  return new Set(calls.map((call) => asRecord(asRecord(call)['function'] ?? asRecord(call)['custom'])['name']));
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

const EMOJI = String.raw`\p{Extended_Pictographic}\uFE0F?[\u{1F3FB}-\u{1F3FF}]?`;
const CJK = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]`;
const PIECES = [
  CJK,
  String.raw`(?:[\p{L}\p{N}]\p{M}*){1,8}`,
  String.raw`\p{Regional_Indicator}{2}`,
  String.raw`${EMOJI}(?:\u200D${EMOJI})*`,
  String.raw`\S\p{M}*`,
];
const TOKEN = new RegExp(String.raw`\s*(?:${PIECES.join('|')})|\s+`, 'gu');
const BYTES_PER_TOKEN = 4;

/**
 * Splits a text into tokens; joined, they are the original text. A token is at most eight letters with the white space
 * before them, one CJK character, one whole emoji or one other character: cutting by token never splits a character.
 */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Estimated prompt tokens of texts. */
export function promptTokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN);
}

/** The first `length` code units at most, without half a surrogate pair at the end. */
export function headOf(text: string, length: number): string {
  return text.slice(0, length).replace(/\p{Cs}$/u, '');
}

/** A 32-bit unsigned integer, equal for equal texts, folded into an earlier one. */
export function hashText(text: string, earlier = 0): number {
  return crc32(text, earlier);
}

/** A number in [0, 1) that looks random and is always the same for the same seed (the mixer of mulberry32). */
export function seededNumber(seed: number): number {
  const state = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
