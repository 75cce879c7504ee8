import { GatewayError } from '../common/errors/gateway-error';
import type { MemoryClaim } from '../common/request-context';

/** Requests of at most this size may use the whole budget; larger ones leave them an eighth of it. */
const SMALL_BYTES = 64 * 1024;
const SHARE_OF_LARGE = 7 / 8;
/** Of what there is, one organization may use so much: its own bodies cannot keep everybody else's out. */
const SHARE_OF_ONE = 3 / 4;

interface Owner {
  readonly id: string;
  claims: number;
  usedBytes: number;
}

/**
 * What the bodies of all requests under way may take together, in bytes. A body counts from before its first byte is
 * read until its request has been answered, since what was parsed from it is needed for as long: to ask the next
 * provider, and to estimate. Whoever does not fit in is turned away at once instead of making everybody wait for memory.
 */
export class BodyBudget {
  private claimedBytes = 0;
  private readonly limitOfLargeBytes: number;
  /** Those with claims. */
  private readonly owners = new Map<string, Owner>();

  constructor(private readonly limitBytes: number) {
    this.limitOfLargeBytes = Math.floor(limitBytes * SHARE_OF_LARGE);
  }

  get usedBytes(): number {
    return this.claimedBytes;
  }

  /**
   * @param ownerId the organization that the bytes are for.
   * @throws GatewayError `service_unavailable`, to be tried again after a second.
   */
  claim(bytes: number, ownerId: string): BodyClaim {
    const owner = this.owners.get(ownerId) ?? { id: ownerId, claims: 0, usedBytes: 0 };
    this.take(owner, bytes, bytes);
    if (owner.claims++ === 0) this.owners.set(ownerId, owner);
    return new BodyClaim(this, owner, bytes);
  }

  /** Moves a claim to `totalBytes` by taking `moreBytes`. */
  take(owner: Owner, moreBytes: number, totalBytes: number): void {
    const limitBytes = totalBytes > SMALL_BYTES ? this.limitOfLargeBytes : this.limitBytes;
    if (this.claimedBytes + moreBytes > limitBytes || owner.usedBytes + moreBytes > limitBytes * SHARE_OF_ONE) {
      throw new GatewayError('service_unavailable', 'The service is receiving too much at once.', {
        retryAfterSeconds: 1,
      });
    }
    this.claimedBytes += moreBytes;
    owner.usedBytes += moreBytes;
  }

  /** Ends a claim. */
  give(owner: Owner, bytes: number): void {
    this.claimedBytes -= bytes;
    owner.usedBytes -= bytes;
    if (--owner.claims === 0) this.owners.delete(owner.id);
  }
}

/** One request's part of the budget. */
export class BodyClaim implements MemoryClaim {
  private released = false;

  constructor(
    private readonly budget: BodyBudget,
    private readonly owner: Owner,
    private bytes: number,
  ) {}

  /** Makes the claim as large as `bytes`, where it is smaller. @throws GatewayError `service_unavailable`. */
  growTo(bytes: number): void {
    if (bytes <= this.bytes || this.released) return;
    this.budget.take(this.owner, bytes - this.bytes, bytes);
    this.bytes = bytes;
  }

  growBy(bytes: number): void {
    this.growTo(this.bytes + bytes);
  }

  release(): void {
    if (this.released) return;
    this.released = true;
    this.budget.give(this.owner, this.bytes);
  }
}
