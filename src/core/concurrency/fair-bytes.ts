/**
 * Shares a memory limit of this process between owners. An owner may take bytes only while at least as much is free as
 * it would then hold, so that it leaves room for others.
 */
export class FairBytes {
  private readonly bytesByOwner = new Map<string, number>();
  private takenBytes = 0;

  constructor(private readonly limitBytes: number) {}

  get usedBytes(): number {
    return this.takenBytes;
  }

  /** Whether at least as much is free as the owner holds. An owner that holds nothing always has room. */
  hasRoom(ownerId: string): boolean {
    const ownBytes = this.bytesByOwner.get(ownerId) ?? 0;
    return ownBytes === 0 || ownBytes <= this.limitBytes - this.takenBytes;
  }

  /** Takes nothing and returns `false` when the bytes do not fit. */
  tryTake(ownerId: string, bytes: number): boolean {
    const ownBytes = (this.bytesByOwner.get(ownerId) ?? 0) + bytes;
    if (ownBytes > this.limitBytes - this.takenBytes) return false;
    this.take(ownerId, bytes);
    return true;
  }

  /** Takes the bytes even beyond the limit. */
  take(ownerId: string, bytes: number): void {
    this.bytesByOwner.set(ownerId, (this.bytesByOwner.get(ownerId) ?? 0) + bytes);
    this.takenBytes += bytes;
  }

  release(ownerId: string, bytes: number): void {
    const leftBytes = (this.bytesByOwner.get(ownerId) ?? 0) - bytes;
    if (leftBytes > 0) this.bytesByOwner.set(ownerId, leftBytes);
    else this.bytesByOwner.delete(ownerId);
    this.takenBytes -= bytes;
  }
}
