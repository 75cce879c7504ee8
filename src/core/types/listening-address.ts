import type { Server } from 'node:http';

/** The local URL of a listening server, for example `http://127.0.0.1:8080`. @throws Error when it does not listen. */
export function listeningAddress(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server does not listen on a port yet');
  const { address, family, port } = bound;
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
  return `http://${family === 'IPv6' && host.includes(':') ? `[${host}]` : host}:${port}`;
}
