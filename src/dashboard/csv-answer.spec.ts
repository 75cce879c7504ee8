import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { toCsvAnswer } from './csv-answer';

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
  const file = { name: 'numbers.csv', header: 'number\r\n', pages: from, toLine: (row: number) => `${row}\r\n` };
  const { content } = await toCsvAnswer(file, 'GET');
  return Buffer.concat(await (content as Readable).toArray()).toString();
}

it('streams concurrent exports completely, one page at a time', async () => {
  const numbers = Array.from({ length: 1_800 }, (_, index) => index);
  const texts = await Promise.all(Array.from({ length: 5 }, () => send()));
  expect(new Set(texts)).toEqual(new Set([['\uFEFFnumber', ...numbers, ''].join('\r\n')]));
  expect(mostAtOnce).toBe(1);
});

it('ends the export when the client stops reading', async () => {
  const ended = Promise.withResolvers<void>();
  const endless = (async function* (): AsyncGenerator<readonly number[]> {
    try {
      for (;;) yield Array.from({ length: 1_000 }, (_, index) => index);
    } finally {
      ended.resolve();
    }
  })();
  const file = { name: 'numbers.csv', header: 'number\r\n', pages: endless, toLine: (row: number) => `${row}` };
  const stream = (await toCsvAnswer(file, 'GET')).content as Readable;
  stream.once('readable', () => stream.destroy());
  await expect(ended.promise).resolves.toBeUndefined();
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
