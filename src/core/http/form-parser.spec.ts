import { createHash } from 'node:crypto';
import { Busboy } from '@fastify/busboy';
import * as fc from 'fast-check';
import { GatewayError } from '../errors/gateway-error';
import type { MultipartForm } from '../types/multipart-form';
import { boundaryOf } from './form-headers';
import { FormParser } from './form-parser';

const RULES = { files: { image: 10, mask: 1 } };
const BOUNDARY = 'b0undary';

/** Serializes a part from its header lines and content. */
const part = (header: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${header}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);
const field = (name: string, value: string | Buffer): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
const file = (name: string, content: string | Buffer, type = 'image/png'): Buffer =>
  part(`Content-Disposition: form-data; name="${name}"; filename="a.png"\r\nContent-Type: ${type}`, content);
const END = Buffer.from(`--${BOUNDARY}--\r\n`);
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, END]);

/** Feeds `body` in chunks that end at `cuts`. */
function parse(body: Buffer, cuts: readonly number[] = [], boundary = BOUNDARY): MultipartForm {
  const parser = new FormParser(boundary, RULES);
  for (const end of [...cuts, body.length]) parser.advance(body.subarray(0, end));
  return parser.finish(body);
}

/** The content of a form, for comparison. */
const contentOf = ({ fields, files }: MultipartForm): unknown => ({
  fields: [...fields],
  files: files.map(({ field: name, contentType, bytes, sha256 }) => [name, contentType, bytes.toString('hex'), sha256]),
});

function refusalOf(body: Buffer, cuts?: readonly number[]): readonly [code: string, param: string | undefined] {
  try {
    parse(body, cuts);
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param];
    throw error;
  }
  throw new Error('the form was accepted');
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

describe('a form', () => {
  it('returns fields in order, and files with their declared type and SHA-256', () => {
    const { fields, files } = parse(
      form(field('model', 'a/b'), file('image', 'PNG'), field('tags[]', 'x'), field('tags[]', 'y'), file('mask', '')),
    );
    expect([...fields]).toEqual([
      ['model', ['a/b']],
      ['tags', ['x', 'y']],
    ]);
    expect(files).toEqual([
      { field: 'image', contentType: 'image/png', bytes: Buffer.from('PNG'), sha256: sha256('PNG') },
      { field: 'mask', contentType: 'image/png', bytes: Buffer.alloc(0), sha256: sha256('') },
    ]);
  });

  it.each([
    ['ISO-8859-1', Buffer.from('Käse', 'latin1')],
    ['"iso-8859-1"', Buffer.from('Käse', 'latin1')],
    ['UTF-8', Buffer.from('Käse')],
  ])('reads text in the charset %s that its part declares', (charset, content) => {
    const header = `Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=${charset}`;
    expect([...parse(form(part(header, content))).fields]).toEqual([['a', ['Käse']]]);
  });

  it('is parsed the same for any chunking', () => {
    const body = form(field('prompt', `\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n-`), file('image[]', '\r\n--\r\n--b0un'));
    const whole = contentOf(parse(body));
    for (let first = 0; first <= body.length; first++) {
      expect(contentOf(parse(body, [first]))).toEqual(whole);
    }
    const everywhere = Array.from({ length: body.length }, (_, index) => index);
    expect(contentOf(parse(body, everywhere))).toEqual(whole);
  });

  it('may have a preamble, an epilogue, padded boundaries, quotes in names, and header names in any case', () => {
    const body = Buffer.from(
      `\r\n--${BOUNDARY} \t\r\ncontent-DISPOSITION: FORM-DATA; NAME="a\\"b"\r\nX-Other: 1\r\n\r\nv\r\n--${BOUNDARY}--\r\nmore`,
    );
    expect([...parse(body).fields]).toEqual([['a"b', ['v']]]);
  });

  it('without parts has no fields', () => {
    expect(contentOf(parse(END))).toEqual({ fields: [], files: [] });
  });

  it('may use any field names', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const { fields } = parse(form(...names.map((name) => field(name, name))));
    expect([...fields]).toEqual(names.map((name) => [name, [name]]));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('accepts a prompt of 32,000 four-byte characters, and not one byte more', () => {
    const prompt = '😀'.repeat(32_000);
    expect(parse(form(field('prompt', prompt))).fields.get('prompt')).toEqual([prompt]);
    expect(refusalOf(form(field('prompt', `${prompt}x`)))).toEqual(['validation_failed', 'prompt']);
  });

  it('accepts 64 KiB in other text fields, and not one byte more', () => {
    const text = 'x'.repeat(65_536);
    expect(parse(form(field('user', text))).fields.get('user')).toEqual([text]);
    expect(refusalOf(form(field('user', `${text}x`)))).toEqual(['validation_failed', 'user']);
  });

  it('has at most 64 parts', () => {
    const parts = Array.from({ length: 64 }, (_, index) => field(`f${index}`, ''));
    expect(parse(form(...parts)).fields.size).toBe(64);
    expect(refusalOf(form(...parts, field('last', '')))[0]).toBe('validation_failed');
  });

  it('has at most as many files per name as the route allows', () => {
    const images = Array.from({ length: 10 }, () => file('image', 'x'));
    expect(parse(form(...images)).filesOf('image')).toHaveLength(10);
    expect(refusalOf(form(...images, file('image[]', 'x')))).toEqual(['validation_failed', 'image']);
    expect(refusalOf(form(file('mask', 'x'), file('mask', 'x')))).toEqual(['validation_failed', 'mask']);
  });
});

describe('a form is refused', () => {
  const disposition = 'Content-Disposition: form-data; name="a"';
  it.each<[string, Buffer, string | undefined]>([
    ['when it is empty', Buffer.alloc(0), undefined],
    ['without its last boundary', field('a', 'x'), undefined],
    ['when it ends in a header', Buffer.from(`--${BOUNDARY}\r\nContent-Dispo`), undefined],
    [
      'when it begins with another boundary',
      Buffer.from(`--other\r\n\r\n--other--\r\n${' '.repeat(2_000)}`),
      undefined,
    ],
    ['after a flood before its first boundary', Buffer.concat([Buffer.alloc(1_100, 0x20), form()]), undefined],
    ['when a boundary goes on', Buffer.from(`--${BOUNDARY}x\r\n${disposition}\r\n\r\n\r\n--${BOUNDARY}--`), undefined],
    ['when a boundary is followed by a flood', Buffer.from(`--${BOUNDARY}${' '.repeat(100)}`), undefined],
    ['for a part without a header', Buffer.from(`--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--`), undefined],
    ['for a part without a Content-Disposition', form(part('Content-Type: text/plain', 'x')), undefined],
    ['for a part of another kind', form(part('Content-Disposition: attachment; name="a"', 'x')), undefined],
    ['for a part without a name', form(part('Content-Disposition: form-data', 'x')), undefined],
    ['for a part with an empty name', form(part('Content-Disposition: form-data; name="[]"', 'x')), undefined],
    ['for two names', form(part(`${disposition}; name="b"`, 'x')), undefined],
    ['for a quote that does not end', form(part('Content-Disposition: form-data; name="a', 'x')), undefined],
    ['for a header twice', form(part(`${disposition}\r\n${disposition}`, 'x')), undefined],
    ['for a folded header', form(part(`Content-Disposition: form-data;\r\n name="a"`, 'x')), undefined],
    ['for a control character in a header', form(part(`${disposition}\r\nX: a\nb`, 'x')), undefined],
    ['for a header that is not UTF-8', form(part(`${disposition}`, 'x')).fill(0xc3, 61, 62), undefined],
    ['for a long name', form(field('n'.repeat(101), 'x')), undefined],
    ['for 17 headers', form(part(`${disposition}\r\n${'X: 1\r\n'.repeat(15)}Y: 1`, 'x')), undefined],
    ['for a flood of headers', Buffer.from(`--${BOUNDARY}\r\n${'X: 1\r\n'.repeat(10_000)}`), undefined],
    ['for encoded content', form(part(`${disposition}\r\nContent-Transfer-Encoding: base64`, 'eA==')), undefined],
    ['for a bad type', form(part(`${disposition}\r\nContent-Type: nonsense`, 'x')), undefined],
    ['for another charset', form(part(`${disposition}\r\nContent-Type: text/plain; charset=utf-16`, 'x')), 'a'],
    ['for text that is not UTF-8', form(field('a', Buffer.from([0xc3, 0x28]))), 'a'],
    ['for text with NUL', form(field('a', 'x\0y')), 'a'],
    ['for an unknown file field', form(file('attachment', 'x')), 'attachment'],
    ['for a file of an inherited name', form(file('constructor', 'x')), 'constructor'],
  ])('%s', (_title, body, param) => {
    expect(refusalOf(body)).toEqual(['validation_failed', param]);
    const everywhere = Array.from({ length: Math.min(body.length, 3_000) }, (_, index) => index);
    expect(refusalOf(body, everywhere)).toEqual(['validation_failed', param]);
  });

  it('at the first invalid byte, not at its end', () => {
    const parser = new FormParser(BOUNDARY, RULES);
    expect(() => parser.advance(file('attachment', 'x').subarray(0, -1))).toThrow('attachment is not a file');
  });

  it('or parsed, without other errors, for any bytes', () => {
    const pieces = fc.constantFrom(
      '\r\n',
      '--',
      BOUNDARY,
      `\r\n--${BOUNDARY}`,
      `--${BOUNDARY}--`,
      'Content-Disposition: form-data',
      '; name=',
      '"a"',
      '; filename="x"',
      'image',
      '\r\n\r\n',
      'Content-Type: ',
      '\0',
      ':',
      ' ',
    );
    const bytes = fc.array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 40 });
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(200), { maxLength: 5 }), (texts, cuts) => {
        const body = Buffer.from(`--${BOUNDARY}\r\n${texts.join('')}`);
        const outcome = (at: readonly number[]): unknown => {
          try {
            return contentOf(parse(body, at));
          } catch (error) {
            if (error instanceof GatewayError && error.code === 'validation_failed')
              return [error.message, error.param];
            throw error;
          }
        };
        const inOrder = cuts.filter((cut) => cut < body.length).toSorted((one, other) => one - other);
        expect(outcome(inOrder)).toEqual(outcome([]));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The result of Fastify's parser. */
function readWithBusboy(body: Buffer, boundary: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fields: [string, string][] = [];
    const files: [string, string][] = [];
    const busboy = new Busboy({ headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } });
    busboy.on('field', (name, value) => fields.push([name, value]));
    busboy.on('file', (name, stream) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => files.push([name, Buffer.concat(chunks).toString('hex')]));
    });
    busboy.on('finish', () => resolve({ fields, files }));
    busboy.on('error', reject);
    busboy.end(body);
  });
}

describe('the content of a form', () => {
  const name = fc.stringMatching(/^[a-z_]{1,12}$/).filter((text) => text !== 'image' && text !== 'mask');
  const content = fc
    .array(fc.oneof(fc.constantFrom('\r\n', '--', '\r\n--', BOUNDARY), fc.string({ unit: 'grapheme' })), {
      maxLength: 9,
    })
    .map((texts) => texts.join('').replaceAll('\0', ''))
    .filter((text) => !`\r\n${text}\r\n`.includes(`\r\n--${BOUNDARY}`));
  const parts = fc.array(
    fc.oneof(
      fc.record({ name, content }),
      fc.record({ name: fc.constant('image'), content: fc.uint8Array().map((bytes) => Buffer.from(bytes)) }),
    ),
    { maxLength: 9 },
  );

  it('equals the result of the Fastify parser', async () => {
    await fc.assert(
      fc.asyncProperty(parts, fc.array(fc.nat(400), { maxLength: 4 }), async (given, cuts) => {
        const body = form(
          ...given.map((sent) =>
            Buffer.isBuffer(sent.content) ? file(sent.name, sent.content) : field(sent.name, sent.content),
          ),
        );
        const inOrder = cuts.filter((cut) => cut < body.length).toSorted((one, other) => one - other);
        const { fields, files } = parse(body, inOrder);
        const theirs = (await readWithBusboy(body, BOUNDARY)) as { fields: [string, string][]; files: unknown };
        expect(files.map((found) => [found.field, found.bytes.toString('hex')])).toEqual(theirs.files);
        const together = Map.groupBy(theirs.fields, ([key]) => key);
        expect([...fields]).toEqual([...together].map(([key, values]) => [key, values.map(([, value]) => value)]));
      }),
      { numRuns: 300 },
    );
  });
});

it.each<[string, Buffer, unknown]>([
  ['skips a part without a Content-Disposition', part('Content-Type: text/plain', 'x'), []],
  ['skips a part with a malformed header', part('not a header', 'x'), []],
  ['picks one of two names', part('Content-Disposition: form-data; name="a"; name="b"', 'x'), [['b', 'x']]],
  ['repairs text that is not UTF-8', field('a', Buffer.from([0xff])), [['a', '\uFFFD']]],
  [
    'leaves encoded content as it is',
    part('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64', 'eA=='),
    [['a', 'eA==']],
  ],
])('a form is refused where the Fastify parser %s', async (_title, sent, theirs) => {
  await expect(readWithBusboy(form(sent), BOUNDARY)).resolves.toEqual({ fields: theirs, files: [] });
  expect(refusalOf(form(sent))[0]).toBe('validation_failed');
});

describe('the boundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data;boundary="a b\'()+_,-./:=?"', "a b'()+_,-./:=?"],
    [
      'Multipart/Form-Data; charset=utf-8; Boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW',
      '----WebKitFormBoundary7MA4YWxkTrZu0gW',
    ],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
    ['multipart/form-data; boundary=abc;', 'abc'],
  ])('of %s is %s', (contentType, expected) => expect(boundaryOf(contentType)).toBe(expected));

  it.each([
    'multipart/form-data',
    'multipart/form-data;',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-data; boundary="a',
    'multipart/form-data; boundary="a "',
    'multipart/form-data; boundary=a b',
    'multipart/form-data; boundary="é"',
  ])('is missing in %s', (contentType) => {
    expect(() => boundaryOf(contentType)).toThrow(
      expect.objectContaining({ code: 'validation_failed', param: 'Content-Type' }),
    );
  });
});
