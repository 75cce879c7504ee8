import { isJsonObject, type JsonObject } from '../../kit/json';

/** The one choice of a stream. Requests ask for one choice; the text of a second one would be mixed into the first. */
export class SingleChoice {
  /** The index of the choice that came first. */
  private index: number | null = null;

  /** The chunk's content for this choice; `null`: none. */
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
