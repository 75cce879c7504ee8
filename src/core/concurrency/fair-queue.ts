/** First in, first out per owner; round robin between owners. */
export class FairQueue<Item> {
  /** Owners with items; the next owner comes first. */
  private readonly itemsOf = new Map<string, Item[]>();

  push(item: Item, ownerId: string): void {
    const items = this.itemsOf.get(ownerId);
    if (items === undefined) this.itemsOf.set(ownerId, [item]);
    else items.push(item);
  }

  /** The next item, `undefined` when there is none. */
  shift(): Item | undefined {
    for (const [ownerId, items] of this.itemsOf) {
      this.itemsOf.delete(ownerId);
      const item = items.shift();
      if (items.length > 0) this.itemsOf.set(ownerId, items);
      return item;
    }
    return undefined;
  }
}
