import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors/gateway-error';
import type { BodyClaim } from './body-budget';

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
