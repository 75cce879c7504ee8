import { readByteRange } from './byte-range';

describe('readByteRange', () => {
  it.each([
    ['bytes=0-0', { first: 0, last: 0 }],
    ['bytes=0-', { first: 0, last: 9 }],
    ['bytes=9-', { first: 9, last: 9 }],
    ['bytes=2-5', { first: 2, last: 5 }],
    ['bytes=2-99', { first: 2, last: 9 }],
    ['bytes=-1', { first: 9, last: 9 }],
    ['bytes=-10', { first: 0, last: 9 }],
    ['bytes=-11', { first: 0, last: 9 }],
    ['BYTES=1-1', { first: 1, last: 1 }],
    ['bytes=0-99999999999999999999999999', { first: 0, last: 9 }],
  ])('%s of ten bytes is a valid range', (header, range) => {
    expect(readByteRange(header, 10)).toEqual(range);
  });

  it.each(['bytes=10-', 'bytes=10-10', 'bytes=99999999999999999999999999-', 'bytes=-0'])(
    '%s of ten bytes is out of range',
    (header) => {
      expect(readByteRange(header, 10)).toBe('beyond');
    },
  );

  it.each([undefined, '', 'bytes=', 'bytes=-', 'bytes=5-2', 'bytes=0-1,3-4', 'bytes=0-1, 3-4', 'items=0-1'])(
    '%s is ignored',
    (header) => {
      expect(readByteRange(header, 10)).toBe('whole');
    },
  );

  it.each(['0-1', 'bytes=a-b', 'bytes=0x0-1', 'bytes=1.0-2', 'bytes=+1-2', 'bytes 0-1'])('%s is ignored', (header) => {
    expect(readByteRange(header, 10)).toBe('whole');
  });

  it('has no range in an empty object', () => {
    expect(['bytes=0-0', 'bytes=0-', 'bytes=-1'].map((header) => readByteRange(header, 0))).toEqual(
      Array<string>(3).fill('beyond'),
    );
  });
});
