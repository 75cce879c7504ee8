import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error';
import type { MemoryClaim } from '../types/request-context';

/**
 * Reads a whole body of at most `limitBytes`. Without a Content-Length the claim grows with the received bytes; a
 * Content-Length was checked and claimed before. Bytes after a refusal are discarded.
 * @returns no promise for a body that has already arrived, as small ones do with their headers
 * @throws GatewayError `request_too_large`, `service_unavailable` when the claim cannot grow; or the connection error
 */
export function readBody(payload: IncomingMessage, limitBytes: number, claim: BodyClaim): Buffer | Promise<Buffer> {
  return hasArrived(payload) ? (payload.read() as Buffer) : receiveBody(payload, limitBytes, claim);
}

/** Compares lengths, because Node runs the request between the last byte of the body and the end of the message. */
function hasArrived({ readableLength, headers }: IncomingMessage): boolean {
  return readableLength > 0 && readableLength === Number(headers['content-length']);
}

function receiveBody(payload: IncomingMessage, limitBytes: number, claim: BodyClaim): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    const stop = (): void => void payload.off('data', onData).off('end', onEnd).off('error', onError);
    const onError = (error: Error): void => {
      stop();
      reject(error);
    };
    const onEnd = (): void => {
      stop();
      const [first] = chunks;
      // Most bodies arrive in one chunk, which needs no copy.
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, receivedBytes));
    };
    const onData = (chunk: Buffer): void => {
      receivedBytes += chunk.length;
      if (receivedBytes > limitBytes) {
        onError(tooLarge());
        return;
      }
      try {
        claim.growTo(receivedBytes);
      } catch (error) {
        onError(error as GatewayError);
        return;
      }
      chunks.push(chunk);
    };
    payload.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

export function tooLarge(): GatewayError {
  return new GatewayError('request_too_large', 'The request body is larger than this service accepts.');
}

/** Requests up to this size may use the whole budget; larger ones must leave an eighth of it free. */
const SMALL_BYTES = 64 * 1024;
const SHARE_OF_LARGE = 7 / 8;
/** The share one organization may use, so that its bodies cannot block those of others. */
const SHARE_OF_ONE = 3 / 4;

interface Owner {
  readonly id: string;
  claims: number;
  usedBytes: number;
}

/**
 * The memory budget for the bodies of all requests in flight, in bytes. A body counts from before its first byte is
 * read until its response is sent, because the parsed value is needed for failover and estimates. Requests that do not
 * fit are refused immediately.
 */
export class BodyBudget {
  private claimedBytes = 0;
  private readonly limitOfLargeBytes: number;
  /** Owners with claims. */
  private readonly owners = new Map<string, Owner>();

  constructor(private readonly limitBytes: number) {
    this.limitOfLargeBytes = Math.floor(limitBytes * SHARE_OF_LARGE);
  }

  /** The maximum for one large request. */
  get limitOfOneBytes(): number {
    return Math.floor(this.limitOfLargeBytes * SHARE_OF_ONE);
  }

  get usedBytes(): number {
    return this.claimedBytes;
  }

  /**
   * @param ownerId the organization that the bytes are charged to.
   * @throws GatewayError `service_unavailable`, with `retry_after` of one second; `validation_failed` as {@link take}
   */
  claim(bytes: number, ownerId: string): BodyClaim {
    const owner = this.owners.get(ownerId) ?? { id: ownerId, claims: 0, usedBytes: 0 };
    this.take(owner, bytes, bytes);
    if (owner.claims++ === 0) this.owners.set(ownerId, owner);
    return new BodyClaim(this, owner, bytes);
  }

  /**
   * Moves a claim to `totalBytes` by taking `moreBytes`.
   * @throws GatewayError `service_unavailable`, or `validation_failed` when it exceeds the maximum of one request.
   */
  take(owner: Owner, moreBytes: number, totalBytes: number): void {
    const limitBytes = totalBytes > SMALL_BYTES ? this.limitOfLargeBytes : this.limitBytes;
    if (totalBytes > limitBytes * SHARE_OF_ONE) {
      throw new GatewayError('validation_failed', 'The request needs more memory than the limit for one request.');
    }
    if (this.claimedBytes + moreBytes > limitBytes || owner.usedBytes + moreBytes > limitBytes * SHARE_OF_ONE) {
      throw new GatewayError('service_unavailable', 'The server is receiving too much data. Retry shortly.', {
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

/** The claim of one request on the budget. */
export class BodyClaim implements MemoryClaim {
  private released = false;

  constructor(
    private readonly budget: BodyBudget,
    private readonly owner: Owner,
    private bytes: number,
  ) {}

  /** Grows the claim to at least `bytes`. @throws GatewayError as {@link BodyBudget.take} */
  growTo(bytes: number): void {
    if (bytes <= this.bytes || this.released) return;
    this.budget.take(this.owner, bytes - this.bytes, bytes);
    this.bytes = bytes;
  }

  /**
   * Claims `bytes`, and copies of them up to the limit of one request.
   * @throws GatewayError as {@link BodyBudget.take}
   */
  growWithCopies(bytes: number, copiesBytes: number): void {
    this.growTo(Math.max(bytes, Math.min(bytes + copiesBytes, this.budget.limitOfOneBytes)));
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
