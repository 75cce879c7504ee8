/**
 * Emulates `response_format: json_object`, which the upstream lacks: its structured outputs accept only schemas that
 * name every property of every object
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations,
 * https://github.com/veryfront/veryfront-code/issues/3918). Instead, the system prompt asks for an object, text around
 * the object is left out, and a complete answer without an object is an error.
 */
import type { ChatRequest } from '../../contract/chat';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject } from '../../kit/json';
import type { TextBlock } from './messages-format';

export const JSON_INSTRUCTION: TextBlock = {
  type: 'text',
  text: 'Respond with one valid JSON object and nothing else: no text around it and no code fence.',
};

export function wantsJsonObject({ response_format: format }: ChatRequest): boolean {
  return isJsonObject(format) && format['type'] === 'json_object';
}

/** Stop reasons of an answer that the model considers complete. A stop sequence may cut an answer off anywhere. */
const COMPLETE: ReadonlySet<unknown> = new Set(['end_turn', 'pause_turn']);

/** Finds the object in the text of an answer, piece by piece. */
export class JsonObjectText {
  private json = '';
  private depth = 0;
  private inString = false;
  private escaped = false;
  private closed = false;

  /** @returns the part of the next piece that belongs to the object */
  add(piece: string): string {
    if (this.closed) return '';
    const start = this.depth > 0 ? 0 : piece.indexOf('{');
    if (start === -1) return '';
    const found = piece.slice(start, this.endIn(piece, start));
    this.json += found;
    return found;
  }

  /** @throws ProviderError for an answer that ended without a valid object */
  check(stopReason: unknown): void {
    if (!COMPLETE.has(stopReason)) return;
    try {
      JSON.parse(this.json);
    } catch {
      throw new ProviderError('provider_error', 'The model did not return a JSON object.', {
        phase: 'first_token',
        fallback: true,
      });
    }
  }

  private endIn(piece: string, start: number): number {
    for (let at = start; at < piece.length; at++) {
      const character = piece[at];
      if (this.inString) {
        if (this.escaped) this.escaped = false;
        else if (character === '\\') this.escaped = true;
        else if (character === '"') this.inString = false;
      } else if (character === '"') this.inString = true;
      else if (character === '{') this.depth++;
      else if (character === '}' && --this.depth === 0) {
        this.closed = true;
        return at + 1;
      }
    }
    return piece.length;
  }
}
