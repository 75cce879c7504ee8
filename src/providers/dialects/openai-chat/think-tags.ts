/**
 * Splits reasoning from the beginning of a text. MiniMax M3 writes it there although asked to keep it separate: as
 * `<think>…</think>` (https://github.com/decolua/9router/pull/2231), or as a lone closing tag when it does not reason
 * (https://github.com/tetsuo-ai/agenc-core/pull/2389). Bedrock puts each piece of GPT OSS's reasoning into its own
 * element (https://github.com/ren8k/aws-gpt-oss-samples). Tags within the answer are part of the answer.
 */
import type { Quirks } from '../../contract/provider-call';

export interface SplitText {
  readonly reasoning: string;
  readonly content: string;
}

/** Splits the pieces of one text, in order. Holds back text that may be the beginning of a tag. */
export class ThinkTags {
  private place: 'beginning' | 'reasoning' | 'blank' | 'answer' = 'beginning';
  private held = '';
  private readonly opening: string;
  private readonly closing: string;

  constructor(name: NonNullable<Quirks['reasoningTag']> = 'think') {
    this.opening = `<${name}>`;
    this.closing = `</${name}>`;
  }

  /** Whether all further text belongs to the answer. */
  get isOver(): boolean {
    return this.place === 'answer';
  }

  split(piece: string): SplitText {
    this.held += piece;
    let reasoning = '';
    let left: ThinkTags['place'];
    do {
      left = this.place;
      if (left === 'beginning') this.readBeginning();
      else if (left === 'reasoning') reasoning += this.readReasoning();
      else if (left === 'blank') this.skipBlank();
    } while (this.place !== left);
    return { reasoning, content: this.place === 'answer' ? this.takeHeld() : '' };
  }

  /** The text still held back when the answer has ended. */
  end(): SplitText {
    const rest = this.takeHeld();
    const isReasoning = this.place === 'reasoning';
    this.place = 'answer';
    return { reasoning: isReasoning ? rest : '', content: isReasoning ? '' : rest };
  }

  private readBeginning(): void {
    const text = this.held.trimStart();
    const { opening, closing } = this;
    if (text.startsWith(opening)) this.enter('reasoning', text.slice(opening.length));
    else if (text.startsWith(closing)) this.enter('blank', text.slice(closing.length));
    else if (!opening.startsWith(text) && !closing.startsWith(text)) this.place = 'answer';
  }

  private readReasoning(): string {
    const end = this.held.indexOf(this.closing);
    if (end === -1) {
      const certain = this.held.length - heldBackOf(this.held, this.closing);
      const reasoning = this.held.slice(0, certain);
      this.held = this.held.slice(certain);
      return reasoning;
    }
    const reasoning = this.held.slice(0, end);
    this.enter('blank', this.held.slice(end + this.closing.length));
    return reasoning;
  }

  /** Skips white space between the reasoning and the answer, or before more reasoning. */
  private skipBlank(): void {
    const text = this.held.trimStart();
    if (text.startsWith(this.opening)) this.enter('reasoning', text.slice(this.opening.length));
    else this.enter(this.opening.startsWith(text) ? 'blank' : 'answer', text);
  }

  private enter(place: ThinkTags['place'], held: string): void {
    this.place = place;
    this.held = held;
  }

  private takeHeld(): string {
    const { held } = this;
    this.held = '';
    return held;
  }
}

/** How many characters at the end of the text may be the beginning of the closing tag. */
function heldBackOf(text: string, closing: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (closing.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
