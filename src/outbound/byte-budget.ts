import type { MemoryClaim } from '../common/request-context';

/** What several downloads may take together. */
export class ByteBudget {
  /** @param memory where they are kept: a few bytes of a request can refer to many. */
  constructor(
    private bytesLeft: number,
    private readonly memory: MemoryClaim | null = null,
  ) {}

  /** `false`: so many are not left. @throws GatewayError `service_unavailable` when they have no room in memory. */
  take(bytes: number): boolean {
    this.bytesLeft -= bytes;
    if (this.bytesLeft < 0) return false;
    this.memory?.growBy(bytes);
    return true;
  }
}
