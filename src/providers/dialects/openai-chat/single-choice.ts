import { isJsonObject, type JsonObject } from '../../kit/json';

/** The only choice of a stream that is read. Requests ask for one; the text of a second would mix with it. */
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
