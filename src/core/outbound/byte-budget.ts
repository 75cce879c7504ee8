import type { MemoryClaim } from '../types/request-context';

/** The shared size limit of several downloads. */
export class ByteBudget {
  /** @param memory the claim that the bytes count against: a small request can refer to large images. */
  constructor(
    private bytesLeft: number,
    private readonly memory: MemoryClaim | null = null,
  ) {}

  /** `false`: the limit is exceeded. @throws GatewayError `service_unavailable` when the memory budget is exhausted. */
  take(bytes: number): boolean {
    this.bytesLeft -= bytes;
    if (this.bytesLeft < 0) return false;
    this.memory?.growBy(bytes);
    return true;
  }
}
