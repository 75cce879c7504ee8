import { connect, type Socket } from 'node:net';

const PIECE_BYTES = 64 * 1024;

/** A server's response to bytes that need not be HTTP. `status` is 0 when it closed without a response. */
export interface RawReply {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Writes bytes to a port, then reads until the server closes or has sent a whole reply. */
export function exchange(port: number, bytes: string | Buffer): Promise<RawReply> {
  const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
  return readReply(socket);
}

/** Sends like a blocking client: it reads the response only after the last byte is written. */
export async function sendThenRead(port: number, bytes: Buffer): Promise<RawReply> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  for (let at = 0; at < bytes.length && !socket.destroyed; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    await new Promise((written) => socket.write(piece, written));
  }
  return socket.destroyed ? parse('') : readReply(socket);
}

/** Reads until the server closes or has sent a whole reply. */
function readReply(socket: Socket): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    let received = '';
    const finish = (): void => {
      socket.destroy();
      resolve(parse(received));
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
      if (isWhole(received)) finish();
    });
    socket.on('close', finish);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') finish();
      else reject(error);
    });
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}

function parse(text: string): RawReply {
  const end = text.indexOf('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? text.length);
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0),
    headers: end === -1 ? text : text.slice(0, end),
    body: end === -1 ? '' : text.slice(end + 4, end + 4 + length),
  };
}
