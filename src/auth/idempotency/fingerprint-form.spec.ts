import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { type FormFile, MultipartForm } from '../../core/types/multipart-form';
import { fingerprintForm, fingerprintJson } from './fingerprint';

const OPERATION = 'createImageEdit';
const fileOf = (field: string, content: string, contentType = 'image/png'): FormFile => {
  const bytes = Buffer.from(content);
  return { field, contentType, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
};
const formOf = (fields: readonly (readonly [string, readonly string[]])[], files: readonly FormFile[]): MultipartForm =>
  new MultipartForm(new Map(fields), files);

const name = fc.string({ minLength: 1, maxLength: 4 });
const text = fc.string({ unit: 'grapheme', maxLength: 8 });
const fields = fc.uniqueArray(fc.tuple(name, fc.array(text, { minLength: 1, maxLength: 3 })), {
  maxLength: 5,
  selector: ([field]) => field,
});
const files = fc.array(fc.tuple(fc.constantFrom('image', 'mask'), text, fc.constantFrom('image/png', 'audio/mpeg')), {
  maxLength: 4,
});
const form = fc.tuple(fields, files).map(([texts, sent]) =>
  formOf(
    texts,
    sent.map(([field, content, type]) => fileOf(field, content, type)),
  ),
);

/** The content of a form as one text, computed independently of the fingerprint. */
const meaningOf = (given: MultipartForm): string => {
  const ofName = Map.groupBy(given.files, ({ field }) => field);
  const sent = [...ofName].map(([field, own]) => [field, own.map((file) => [file.contentType, file.bytes.toString()])]);
  return JSON.stringify([[...given.fields].toSorted(byName), sent.toSorted(byName)]);
};
const byName = ([one]: readonly unknown[], [other]: readonly unknown[]): number =>
  String(one) < String(other) ? -1 : 1;

describe('the fingerprint of a form', () => {
  it('is the hash of operation, kind and the contents of the parts', () => {
    const sent = formOf([['n', ['1']]], [fileOf('image', 'PNG')]);
    // printf 1 | sha256sum
    const one = '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b';
    const lines = [
      `["image",0,"file","image/png",3,"${fileOf('image', 'PNG').sha256}"]`,
      `["n",0,"text","text/plain",1,"${one}"]`,
    ];
    const expected = createHash('sha256')
      .update(`${OPERATION}\nform\n${lines.join('\n')}`)
      .digest('hex');
    expect(fingerprintForm(OPERATION, sent)).toBe(expected);
  });

  it('ignores the order of fields and of files with different names', () => {
    fc.assert(
      fc.property(form, (sent) => {
        const groups = [...Map.groupBy(sent.files, ({ field }) => field).values()].toReversed().flat();
        const other = formOf([...sent.fields].toReversed(), groups);
        expect(fingerprintForm(OPERATION, other)).toBe(fingerprintForm(OPERATION, sent));
      }),
    );
  });

  it('is equal for two forms exactly when their contents are equal', () => {
    fc.assert(
      fc.property(form, form, (one, other) => {
        const same = fingerprintForm(OPERATION, one) === fingerprintForm(OPERATION, other);
        expect(same).toBe(meaningOf(one) === meaningOf(other));
      }),
    );
  });

  const image = fileOf('image', 'one');
  const base = formOf([['prompt', ['a']]], [image]);
  it.each<[string, MultipartForm]>([
    ['another content', formOf([['prompt', ['a']]], [fileOf('image', 'two')])],
    ['another type', formOf([['prompt', ['a']]], [fileOf('image', 'one', 'image/webp')])],
    ['another name of the file field', formOf([['prompt', ['a']]], [fileOf('mask', 'one')])],
    ['one more file', formOf([['prompt', ['a']]], [image, image])],
    ['another value', formOf([['prompt', ['b']]], [image])],
    ['a value twice', formOf([['prompt', ['a', 'a']]], [image])],
    [
      'an unknown field',
      formOf(
        [
          ['prompt', ['a']],
          ['extra', ['']],
        ],
        [image],
      ),
    ],
    [
      'a text instead of a file',
      formOf(
        [
          ['prompt', ['a']],
          ['image', ['one']],
        ],
        [],
      ),
    ],
    ['a text that reads like two fields', formOf([['prompt', ['a"],["image']]], [image])],
  ])('differs for %s', (_what, other) => {
    expect(fingerprintForm(OPERATION, other)).not.toBe(fingerprintForm(OPERATION, base));
  });

  it('differs when files of one name change order, which can be significant', () => {
    const [first, second] = [fileOf('image', 'one'), fileOf('image', 'two')];
    expect(fingerprintForm(OPERATION, formOf([], [first, second]))).not.toBe(
      fingerprintForm(OPERATION, formOf([], [second, first])),
    );
  });

  it('differs by operation, and from every JSON body', () => {
    expect(fingerprintForm('createTranscription', base)).not.toBe(fingerprintForm(OPERATION, base));
    expect(fingerprintJson(OPERATION, {})).not.toBe(fingerprintForm(OPERATION, formOf([], [])));
  });
});
