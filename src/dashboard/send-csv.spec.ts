import { get } from 'node:http';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import fastify, { type FastifyReply } from 'fastify';
import { sendCsv } from './send-csv';

let working = 0;
let mostAtOnce = 0;

async function* pages(): AsyncGenerator<readonly number[]> {
  for (let page = 0; page < 3; page++) {
    mostAtOnce = Math.max(mostAtOnce, ++working);
    await new Promise((resolve) => setImmediate(resolve));
    working--;
    yield Array.from({ length: 600 }, (_, index) => page * 600 + index);
  }
}

async function send(from = pages()): Promise<string> {
  let sent: Readable | undefined;
  const reply = {
    request: { method: 'GET' },
    raw: { socket: null },
    header: () => reply,
    send: (stream: Readable) => (sent = stream),
  };
  const file = { name: 'numbers.csv', header: 'number\r\n', pages: from, toLine: (row: number) => `${row}\r\n` };
  await sendCsv(reply as unknown as FastifyReply, file);
  return Buffer.concat(await (sent as Readable).toArray()).toString();
}

it('streams concurrent exports completely, one page at a time', async () => {
  const numbers = Array.from({ length: 1_800 }, (_, index) => index);
  const texts = await Promise.all(Array.from({ length: 5 }, () => send()));
  expect(new Set(texts)).toEqual(new Set([['number', ...numbers, ''].join('\r\n')]));
  expect(mostAtOnce).toBe(1);
});

it('aborts the export when the client stops reading', async () => {
  const ended = Promise.withResolvers<void>();
  const endless = (async function* (): AsyncGenerator<readonly number[]> {
    try {
      for (;;) yield Array.from({ length: 1_000 }, (_, index) => index);
    } finally {
      ended.resolve();
    }
  })();
  const server = fastify();
  const file = {
    name: 'numbers.csv',
    header: 'number\r\n',
    pages: endless,
    toLine: (row: number) => `${row}`.repeat(99),
  };
  server.get('/', (_request, reply) => void sendCsv(reply, file, 100));
  const client = get(await server.listen({ port: 0 }), (reply) => reply.once('readable', () => undefined));
  client.on('error', () => undefined);
  await expect(ended.promise).resolves.toBeUndefined();
  client.destroy();
  await server.close();
});

it('aborts the export and logs export_aborted when the rest cannot be read', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  const broken = (async function* (): AsyncGenerator<readonly number[]> {
    yield [1];
    throw new Error('no database');
  })();
  await expect(send(broken)).rejects.toThrow('no database');
  expect(warn).toHaveBeenCalledWith(expect.objectContaining({ event: 'export_aborted' }));
});
