import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error';
import type { BodyClaim } from './body-budget';

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads a whole body of at most `limitBytes`. Without a Content-Length the claim grows with the received bytes. Calls
 * `done` once, with `request_too_large`, `service_unavailable` when the claim cannot grow, or the connection error;
 * bytes after a refusal are discarded.
 */
export function readBody(payload: IncomingMessage, limitBytes: number, claim: BodyClaim, done: Done): void {
  const chunks: Buffer[] = [];
  let receivedBytes = 0;
  const end = (error: Error | null): void => {
    payload.off('data', onData).off('end', onEnd).off('error', end);
    if (error !== null) done(error);
    // Most bodies arrive in one chunk, which needs no copy.
    else done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, receivedBytes));
  };
  const onEnd = (): void => end(null);
  const onData = (chunk: Buffer): void => {
    receivedBytes += chunk.length;
    if (receivedBytes > limitBytes) {
      end(tooLarge());
      return;
    }
    try {
      claim.growTo(receivedBytes);
    } catch (error) {
      end(error as GatewayError);
      return;
    }
    chunks.push(chunk);
  };
  payload.on('data', onData).on('end', onEnd).on('error', end);
}

export function tooLarge(): GatewayError {
  return new GatewayError('request_too_large', 'The request body is larger than this service accepts.');
}
