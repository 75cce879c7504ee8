import { createHash } from 'node:crypto';
import { Canvas } from '../picture/canvas';
import { H264Encoder } from './h264-encoder';

const START = Buffer.from([0, 0, 0, 1]);

/** Pictures that use every kind of level and run: noise in black and white, in all colors, and in red and blue. */
function encodeNoise(): Buffer {
  const encoder = new H264Encoder(176, 144);
  const cells = new Canvas(encoder.columns * 4, encoder.rows * 4);
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
  const colorings = [
    () => (random() < 0.5 ? 0xffffff : 0),
    () => Math.floor(random() * 0x1000000),
    () => (random() < 0.5 ? 0xff0000 : 0x0000ff),
  ];
  const { parameterSets } = encoder.describe();
  const stream = [START, parameterSets.sequence, START, parameterSets.picture];
  for (let frame = 0; frame < 60; frame++) {
    const color = colorings[frame % 3] ?? (() => 0);
    for (let at = 0; at < cells.pixels.length; at++) {
      if (random() < (frame % 12 === 0 ? 1 : 0.02)) cells.pixels[at] = color();
    }
    stream.push(START, encoder.encode(cells, frame % 30 === 0));
  }
  return Buffer.concat(stream);
}

describe('H264Encoder', () => {
  // FFmpeg 5.1 decoded this exact stream without errors, to the same samples that the encoder predicted from.
  it('writes the exact bits of a stream that was verified with a real decoder', () => {
    expect(createHash('sha256').update(encodeNoise()).digest('hex')).toBe(
      'e2a85595bd8febe0e8869f11f71b9d8ba0a8fdf59da0fdd129f50baacea13a4a',
    );
  });

  it('writes almost nothing for an unchanged frame', () => {
    const encoder = new H264Encoder(1280, 720);
    const cells = new Canvas(encoder.columns * 4, encoder.rows * 4);
    cells.fillGradient(0xff0000, 0x0000ff);
    expect(encoder.encode(cells, true).length).toBeGreaterThan(1_000);
    expect(encoder.encode(cells, false).length).toBeLessThan(12);
  });
});
