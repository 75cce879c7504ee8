import { connect } from 'node:net';

/** What a server answered to bytes that need not be HTTP. `status` is 0 when it closed without a word. */
export interface RawReply {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Writes bytes to a port, then reads until the server closes or has sent a whole reply. */
export function exchange(port: number, bytes: string | Buffer): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
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
