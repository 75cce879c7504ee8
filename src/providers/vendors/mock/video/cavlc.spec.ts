import { BitWriter } from './bit-writer';
import { writeBlock } from './cavlc';

/** The bits of a unit without its first byte and its end. */
function bitsOf(write: (writer: BitWriter) => void): string {
  const writer = new BitWriter();
  write(writer);
  const bits = Array.from(writer.toUnit(0).subarray(1), (byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.slice(0, bits.lastIndexOf('1'));
}

const block = (...levels: number[]) => {
  const whole = new Int32Array(16);
  whole.set(levels);
  return bitsOf((writer) => writeBlock(writer, whole));
};

describe('BitWriter', () => {
  it('writes numbers as the standard defines them', () => {
    const numbers = [0, 1, 2, 3, 7, 8].map((value) => bitsOf((writer) => writer.writeUnsigned(value)));
    expect(numbers).toEqual(['1', '010', '011', '00100', '0001000', '0001001']);
    const signed = [0, 1, -1, 2, -2].map((value) => bitsOf((writer) => writer.writeSigned(value)));
    expect(signed).toEqual(['1', '010', '011', '00100', '00101']);
  });

  it('escapes bytes that look like the start of another unit', () => {
    const writer = new BitWriter();
    for (const byte of [0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 4]) writer.write(byte, 8);
    expect([...writer.toUnit(0x65)]).toEqual([0x65, 0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 0, 3, 0, 0, 4, 0x80]);
  });

  it('grows on demand', () => {
    const writer = new BitWriter();
    for (let at = 0; at < 20_000; at++) writer.write(0xaa, 8);
    expect(writer.toUnit(0)).toHaveLength(20_002);
  });
});

describe('writeBlock', () => {
  // Worked examples from the textbook: I. Richardson, The H.264 Advanced Video Compression Standard, section 7.4.2.
  it.each([
    [[0, 3, 0, 1, -1, -1, 0, 1], '000010001110010111101101'],
    [[-2, 4, 3, -3, 0, 0, -1], '000000011010001001000010111001100'],
    [[0, 0, 0, 1, 0, 1, 0, 0, 0, -1], '0001110001110010'],
  ])('writes %j as the textbook does', (levels, bits) => {
    expect(block(...levels)).toBe(bits);
  });

  it('writes an empty block as one bit', () => {
    expect(block()).toBe('1');
  });

  it('writes large levels with an escape', () => {
    expect(block(40)).toBe(`000101${'1'.padStart(16, '0')}${(76 - 30).toString(2).padStart(12, '0')}1`);
    expect(block(-9)).toBe(`000101${'1'.padStart(15, '0')}${(15 - 14).toString(2).padStart(4, '0')}1`);
  });

  it('writes chroma blocks with separate codes', () => {
    const chroma = (...levels: number[]) => bitsOf((writer) => writeBlock(writer, Int32Array.from(levels)));
    expect(chroma(0, 0, 0, 0)).toBe('01');
    expect(chroma(1, 0, 0, 0)).toBe('101');
    expect(chroma(0, -1, 0, 0)).toBe('1101');
  });
});
