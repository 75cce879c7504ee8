import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type ProxyMode =
  | 'open'
  /** New connections are refused, existing ones are cut. */
  | 'down'
  /** Everything reaches the server, no answer comes back. */
  | 'deaf'
  /** Nothing reaches the server; connections stay open, as with a machine that hangs. */
  | 'frozen';

export interface DatabaseProxy {
  readonly url: string;
  setMode(mode: ProxyMode): void;
  close(): Promise<void>;
}

/** A wire between an engine and PostgreSQL that can fail in the ways wires and servers do. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let mode: ProxyMode = 'open';

  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    track(client);
    if (mode === 'down') {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    track(upstream);
    client.on('data', (data) => void (mode !== 'frozen' && upstream.write(data)));
    upstream.on('data', (data) => void (mode === 'open' && client.write(data)));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    setMode: (next) => {
      mode = next;
      if (mode === 'down') {
        sockets.forEach((socket) => socket.destroy());
      }
    },
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}
