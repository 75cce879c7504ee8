/** Speaks just enough of the Redis protocol to answer the limiter with what a test specifies. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The bytes that answer a call of the limit script, in the form of the protocol. */
export type ScriptReply = (payload: readonly unknown[]) => string;

const INFO = 'redis_version:7.0.0\r\nloading:0\r\n';

export class ScriptedRedis {
  connections = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private reply: ScriptReply,
  ) {}

  static async start(reply: ScriptReply): Promise<ScriptedRedis> {
    const server = createServer();
    const scripted = new ScriptedRedis(server, reply);
    server.on('connection', (socket) => scripted.serve(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  answerWith(reply: ScriptReply): void {
    this.reply = reply;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket);
    onCommand(socket, (words) => socket.write(this.answer(words)));
  }

  private answer([name = '', ...words]: readonly string[]): string {
    switch (name.toLowerCase()) {
      case 'info':
        return bulk(INFO);
      case 'eval':
      case 'evalsha':
        return this.reply(JSON.parse(words.at(-1) as string));
      default:
        return '+OK\r\n';
    }
  }
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** Calls `handle` with the words of each command that the client sends. */
export function onCommand(socket: Socket, handle: (words: readonly string[]) => void): void {
  let unread = '';
  socket.on('error', () => undefined).setEncoding('utf8');
  socket.on('data', (text: string) => {
    unread += text;
    for (let command = readCommand(unread); command !== null; command = readCommand(unread)) {
      unread = unread.slice(command.length);
      handle(command.words);
    }
  });
}

/** The first whole command of the text: an array of bulk strings, all of them ASCII here. */
function readCommand(text: string): { words: string[]; length: number } | null {
  const count = /^\*(\d+)\r\n/.exec(text);
  if (count === null) return null;
  let at = count[0].length;
  const words: string[] = [];
  while (words.length < Number(count[1])) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 20));
    if (size === null) return null;
    const from = at + size[0].length;
    const to = from + Number(size[1]);
    if (text.length < to + 2) return null;
    words.push(text.slice(from, to));
    at = to + 2;
  }
  return { words, length: at };
}
