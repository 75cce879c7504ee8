/**
 * Reasoning at the beginning of a text, which MiniMax M3 writes there although asked to keep it apart: as
 * `<think>…</think>` (https://github.com/decolua/9router/pull/2231), or as nothing but the closing tag when it does not
 * reason (https://github.com/tetsuo-ai/agenc-core/pull/2389). Tags further on belong to the answer.
 */
const OPENING = '<think>';
const CLOSING = '</think>';

export interface SplitText {
  readonly reasoning: string;
  readonly content: string;
}

/** Splits the pieces of one text, in order. What may be the beginning of a tag is held back. */
export class ThinkTags {
  private place: 'beginning' | 'reasoning' | 'blank' | 'answer' = 'beginning';
  private held = '';

  /** Whether all further text is the answer's. */
  get isOver(): boolean {
    return this.place === 'answer';
  }

  split(piece: string): SplitText {
    this.held += piece;
    let reasoning = '';
    if (this.place === 'beginning') this.readBeginning();
    if (this.place === 'reasoning') reasoning = this.readReasoning();
    if (this.place === 'blank') this.skipBlank();
    return { reasoning, content: this.place === 'answer' ? this.takeHeld() : '' };
  }

  /** The text still held back when the answer has ended. */
  end(): SplitText {
    const rest = this.place === 'blank' ? '' : this.takeHeld();
    const isReasoning = this.place === 'reasoning';
    this.place = 'answer';
    return { reasoning: isReasoning ? rest : '', content: isReasoning ? '' : rest };
  }

  private readBeginning(): void {
    const text = this.held.trimStart();
    if (text.startsWith(OPENING)) this.enter('reasoning', text.slice(OPENING.length));
    else if (text.startsWith(CLOSING)) this.enter('blank', text.slice(CLOSING.length));
    else if (!OPENING.startsWith(text) && !CLOSING.startsWith(text)) this.place = 'answer';
  }

  private readReasoning(): string {
    const end = this.held.indexOf(CLOSING);
    if (end === -1) {
      const certain = this.held.length - heldBackOf(this.held);
      const reasoning = this.held.slice(0, certain);
      this.held = this.held.slice(certain);
      return reasoning;
    }
    const reasoning = this.held.slice(0, end);
    this.enter('blank', this.held.slice(end + CLOSING.length));
    return reasoning;
  }

  /** Between the reasoning and the answer. */
  private skipBlank(): void {
    const text = this.held.trimStart();
    this.enter(text === '' ? 'blank' : 'answer', text);
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
function heldBackOf(text: string): number {
  for (let length = Math.min(CLOSING.length - 1, text.length); length > 0; length--) {
    if (CLOSING.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
