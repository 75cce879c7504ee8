import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error';
import type { MultipartForm } from '../types/multipart-form';
import type { FormParser } from './form-parser';

const FIRST_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** The memory that a form may use. */
interface GrowingClaim {
  /** @throws GatewayError `service_unavailable` */
  growTo(bytes: number): void;
}

type Done = (error: Error | null, form?: MultipartForm) => void;

/**
 * Reads a whole form of at most `limitBytes` into one buffer while `parser` parses it. Calls `done` once, with the
 * parser's refusal, `request_too_large`, `service_unavailable` when the claim cannot grow, or the connection error;
 * bytes after a refusal are discarded.
 */
export function readForm(
  payload: IncomingMessage,
  limitBytes: number,
  claim: GrowingClaim,
  parser: FormParser,
  done: Done,
): void {
  const body = new ReceivedBody(limitBytes, Number(payload.headers['content-length'] ?? 0), claim);
  const end = (error: Error | null, form?: MultipartForm): void => {
    payload.off('data', onData).off('end', onEnd).off('error', end);
    done(error, form);
  };
  const onData = (chunk: Buffer): void => {
    try {
      body.count(chunk);
      if (!parser.isComplete) parser.advance(body.append(chunk));
    } catch (error) {
      end(error as Error);
    }
  };
  const onEnd = (): void => {
    let form: MultipartForm;
    try {
      form = parser.finish(body.bytes);
    } catch (error) {
      // Only the verdict is caught: `done` runs the rest of the request.
      end(error as Error);
      return;
    }
    end(null, form);
  };
  payload.on('data', onData).on('end', onEnd).on('error', end);
}

/** The received bytes in one buffer, allocated at once when the length is known, else growing. */
class ReceivedBody {
  private receivedBytes = 0;
  private buffer = NOTHING;
  private length = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly announcedBytes: number,
    private readonly claim: GrowingClaim,
  ) {}

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** @throws GatewayError `request_too_large`. */
  count(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    if (this.receivedBytes > this.limitBytes) throw tooLarge();
  }

  /** @throws GatewayError `service_unavailable`. */
  append(chunk: Buffer): Buffer {
    const length = this.length + chunk.length;
    if (length > this.buffer.length) this.growTo(length);
    chunk.copy(this.buffer, this.length);
    this.length = length;
    return this.bytes;
  }

  private growTo(neededBytes: number): void {
    const doubledBytes = Math.min(this.limitBytes, Math.max(FIRST_BYTES, 2 * this.buffer.length));
    const bytes = Math.max(neededBytes, this.announcedBytes || doubledBytes);
    this.claim.growTo(bytes);
    // Neither zero-filled nor pooled: bytes that never arrive take no memory.
    const larger = Buffer.allocUnsafeSlow(bytes);
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}

export function tooLarge(): GatewayError {
  return new GatewayError('request_too_large', 'The request body is larger than this service accepts.');
}
