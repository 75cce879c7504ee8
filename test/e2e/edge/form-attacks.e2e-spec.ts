import { connect } from 'node:net';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { assertMatchesDocument } from '../../harness/openapi-validator';
import { pngHead as png } from '../../harness/png-head';
import { exchange } from '../../harness/raw-http';

const PATH = '/v1/images/edits';
const BOUNDARY = 'b0undary';
const FORM = `multipart/form-data; boundary=${BOUNDARY}`;
const LIMIT_BYTES = 26_214_400;
/** The status of an accepted form, because the model does not exist. */
const TAKEN = [404, 'model_not_found', 'model'];
const REFUSED = [400, 'validation_failed'];

const part = (header: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${header}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);
const field = (name: string, value: string | Buffer): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
const file = (name: string, content: Buffer | string, header = 'Content-Type: image/png'): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"; filename="../../etc/passwd"\r\n${header}`, content);
const END = Buffer.from(`--${BOUNDARY}--\r\n`);
const IMAGE = file('image', png(1, 1));
const ASKED = Buffer.concat([field('model', 'mock/none'), field('prompt', 'a cat')]);
/** A valid form with `more` before its end. */
const formWith = (...more: Buffer[]): Buffer => Buffer.concat([ASKED, IMAGE, ...more, END]);
/** A valid form of exactly this many bytes. */
function formOf(bytes: number): Buffer {
  const rest = Buffer.concat([ASKED, file('image', ''), END]).length;
  return Buffer.concat([ASKED, file('image', png(1, 1, bytes - rest)), END]);
}

let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

/** Status, code and param (if present). */
async function send(body: Buffer | string, contentType = FORM, path = PATH): Promise<unknown[]> {
  const reply = await gateway.call(path, { key: customer.key, body, headers: { 'content-type': contentType } });
  const { code, param } = reply.json.error;
  return param === undefined ? [reply.status, code] : [reply.status, code, param];
}

/** The same for a raw request. */
async function write(headers: readonly string[], body: Buffer): Promise<unknown[]> {
  const lines = [
    `POST ${PATH} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${customer.key}`,
    `Content-Type: ${FORM}`,
    ...headers,
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  const reply = await exchange(Number(new URL(gateway.url).port), Buffer.concat([head, body]));
  if (reply.status === 0) return [0];
  const seen = reply.headers
    .split('\r\n')
    .slice(1)
    .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]);
  const observed = { method: 'POST', path: PATH, status: reply.status, headers: Object.fromEntries(seen) };
  assertMatchesDocument({ ...observed, body: reply.body });
  return [reply.status, JSON.parse(reply.body).error.code];
}

const chunked = (body: Buffer, size = 65_536): Buffer => {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
};

describe('a form', () => {
  it('is parsed with or without a Content-Length', async () => {
    expect(await send(formWith())).toEqual(TAKEN);
    expect(await write(['Content-Length: ' + formWith().length], formWith())).toEqual(TAKEN.slice(0, 2));
    expect(await write(['Transfer-Encoding: chunked'], chunked(formWith(), 7))).toEqual(TAKEN.slice(0, 2));
  });

  it('may have 25 MiB and not a byte more, with or without a Content-Length', async () => {
    const [largest, larger] = [formOf(LIMIT_BYTES), formOf(LIMIT_BYTES + 1)];
    expect([largest.length, larger.length]).toEqual([LIMIT_BYTES, LIMIT_BYTES + 1]);
    expect(await send(largest)).toEqual(TAKEN);
    expect(await send(larger)).toEqual([413, 'request_too_large']);
    expect(await write(['Transfer-Encoding: chunked'], chunked(largest))).toEqual(TAKEN.slice(0, 2));
    expect(await write(['Transfer-Encoding: chunked'], chunked(larger))).toEqual([413, 'request_too_large']);
  });

  it('returns 415 on JSON routes, as do JSON and other types on form routes', async () => {
    const unsupported = [415, 'unsupported_media_type'];
    expect(await send(formWith(), FORM, '/v1/chat/completions')).toEqual(unsupported);
    expect(await send('{}', 'application/json', '/v1/audio/transcriptions')).toEqual(unsupported);
    for (const type of [
      'application/x-www-form-urlencoded',
      'multipart/mixed; boundary=b',
      'text/plain',
      'image/png',
    ]) {
      expect(await send(formWith(), type)).toEqual(unsupported);
      expect(await send(formWith(), type, '/v1/audio/transcriptions')).toEqual(unsupported);
    }
    expect((await send('{"model":"mock/none"}', 'application/json')).slice(0, 2)).toEqual(REFUSED);
  });

  it('is refused without a body', async () => {
    const reply = await gateway.call('/v1/audio/transcriptions', { method: 'POST', key: customer.key });
    expect([reply.status, reply.json.error.code]).toEqual(REFUSED);
  });
});

describe('returns 400 for a form', () => {
  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=a; boundary=b',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'multipart/form-data; boundary="',
  ])('whose Content-Type is %s', async (type) => {
    expect(await send(formWith(), type)).toEqual([...REFUSED, 'Content-Type']);
  });

  it.each<[string, Buffer, string | undefined]>([
    [
      'whose boundary differs from the Content-Type',
      Buffer.from(formWith().toString('latin1').replaceAll('b0', 'c0'), 'latin1'),
      undefined,
    ],
    ['that is truncated', formWith().subarray(0, -20), undefined],
    ['that ends inside a file', Buffer.concat([ASKED, IMAGE.subarray(0, -10)]), undefined],
    ['with 10,000 parts', formWith(...Array.from({ length: 10_000 }, () => field('x', ''))), undefined],
    [
      'with 10,000 headers in a part',
      formWith(field('x"\r\nX: 1'.padEnd(9, 'x') + '\r\nX: 1'.repeat(10_000), '')),
      undefined,
    ],
    ['with a flood before it', Buffer.concat([Buffer.alloc(5_000_000, 0x2d), formWith()]), undefined],
    [
      'with a nested form',
      formWith(part(`Content-Disposition: attachment\r\nContent-Type: ${FORM}`, formWith())),
      undefined,
    ],
    [
      'with a Content-Transfer-Encoding',
      formWith(part('Content-Disposition: form-data; name="user"\r\nContent-Transfer-Encoding: base64', 'eA==')),
      undefined,
    ],
    ['with text that is not UTF-8', formWith(field('user', Buffer.from([0xff, 0xfe]))), 'user'],
    ['with a file as a text field', formWith(file('user', 'x')), 'user'],
    ['with an unexpected file', formWith(file('__proto__', 'x')), '__proto__'],
    ['with a text of 64 KiB plus a byte', formWith(field('user', 'x'.repeat(65_537))), 'user'],
    ['without a part', Buffer.alloc(0), undefined],
    ['with a repeated field', formWith(field('prompt', 'another')), 'prompt'],
    ['with a text instead of a number', formWith(field('n', 'many')), 'n'],
    ['with routing that is not JSON', formWith(field('routing', '{"order":')), 'routing'],
    ['with __proto__ in routing', formWith(field('routing', '{"__proto__":{"a":1}}')), 'routing.__proto__'],
    ['with eleven images', formWith(...Array.from({ length: 10 }, () => IMAGE)), 'image'],
    ['with two masks', formWith(file('mask', png(1, 1)), file('mask', png(1, 1))), 'mask'],
    ['without a file', Buffer.concat([ASKED, END]), 'image'],
    ['without a prompt', Buffer.concat([field('model', 'mock/none'), IMAGE, END]), 'prompt'],
    ['with a text as an image', Buffer.concat([ASKED, field('image', 'https://example.com/a.png'), END]), 'image'],
    [
      'with a script as an image',
      Buffer.concat([ASKED, file('image', '<svg onload="alert(1)"/>', 'Content-Type: image/svg+xml'), END]),
      'image',
    ],
    [
      'with a page that ends in an image',
      Buffer.concat([ASKED, file('image', Buffer.concat([Buffer.from('<html>'), png(1, 1)])), END]),
      'image',
    ],
    [
      'with an archive labelled as an image',
      Buffer.concat([ASKED, file('image', 'PK\x03\x04'.padEnd(99)), END]),
      'image',
    ],
    ['with a pixel bomb', Buffer.concat([ASKED, file('image', png(60_000, 60_000)), END]), 'image'],
    ['with an image without pixels', Buffer.concat([ASKED, file('image', png(0, 1)), END]), 'image'],
    ['with an invalid mask', formWith(file('mask', 'x')), 'mask'],
  ])('%s', async (_what, body, param) => {
    expect(await send(body)).toEqual(param === undefined ? REFUSED : [...REFUSED, param]);
  });

  it('with a prompt of 32,001 characters, but accepts 32,000 of four bytes each', async () => {
    const asking = (prompt: string): Buffer =>
      Buffer.concat([field('model', 'mock/none'), field('prompt', prompt), IMAGE, END]);
    expect(await send(asking('😀'.repeat(32_000)))).toEqual(TAKEN);
    expect(await send(asking('x'.repeat(32_001)))).toEqual([...REFUSED, 'prompt']);
  });

  it('with compressed content: 415', async () => {
    const reply = await gateway.call(PATH, {
      key: customer.key,
      body: formWith(),
      headers: { 'content-type': FORM, 'content-encoding': 'gzip' },
    });
    expect(reply.status).toBe(415);
  });

  it('during the upload: the rest is discarded so that the client reads the response', async () => {
    const bad = Buffer.concat([file('attachment', 'x'), ASKED]);
    const body = Buffer.concat([bad, Buffer.alloc(20_000_000), END]);
    const reply = await gateway.call(PATH, { key: customer.key, body, headers: { 'content-type': FORM } });
    expect([reply.status, reply.json.error.param]).toEqual([400, 'attachment']);
    // Closing the connection at once could discard the response.
    expect(reply.headers.get('connection')).not.toBe('close');
    expect(await write(['Transfer-Encoding: chunked'], chunked(bad).subarray(0, -5))).toEqual(REFUSED);
  });
});

describe('a false Content-Length', () => {
  it('ends the form at that length', async () => {
    expect(await write([`Content-Length: ${formWith().length - 30}`], formWith())).toEqual(REFUSED);
  });

  it('leaves no reservation when the client disconnects before processing', async () => {
    for (let index = 0; index < 20; index++) {
      const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
      const head = [`POST ${PATH} HTTP/1.1`, 'Host: gateway', `Authorization: Bearer ${customer.key}`];
      socket.end(
        Buffer.concat([
          Buffer.from(`${[...head, `Content-Type: ${FORM}`, `Content-Length: ${LIMIT_BYTES}`].join('\r\n')}\r\n\r\n`),
          formWith().subarray(0, -30),
        ]),
      );
      await new Promise((resolve) =>
        socket
          .on('error', () => undefined)
          .on('close', resolve)
          .resume(),
      );
    }
    // Together the twenty would need four times the budget of one organization.
    expect(await send(formOf(LIMIT_BYTES))).toEqual(TAKEN);
  });
});

describe('field names', () => {
  it('inherited by every object are treated like other names', async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString'];
    expect(await send(formWith(...names.map((name) => field(name, '{"polluted":true}'))))).toEqual(TAKEN);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
