import { isJsonObject, type JsonObject } from '../../kit/json';

/** The one choice of a stream. Requests ask for one; the text of a second one would mix with that of the first. */
export class SingleChoice {
  /** Of the choice that came first. */
  private index: number | null = null;

  /** What a chunk says about the choice; `null`: nothing. */
  in({ choices }: JsonObject): JsonObject | null {
    const own = Array.isArray(choices) ? choices.find((choice: unknown) => this.isOwn(choice)) : undefined;
    return (own as JsonObject | undefined) ?? null;
  }

  /** Some upstreams omit the index. */
  private isOwn(choice: unknown): boolean {
    if (!isJsonObject(choice)) return false;
    const { index } = choice;
    if (typeof index !== 'number') return true;
    this.index ??= index;
    return index === this.index;
  }
}
