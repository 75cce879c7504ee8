import { promisify } from 'node:util';
import { constants, crc32, deflate } from 'node:zlib';
import type { Clock } from '../../../core/time/clock';
import type { GeneratedImage, ImageFile, ImageRequest, ImageResult, ImagesProvider } from '../../contract/images';
import type { ProviderCall } from '../../contract/provider-call';
import { ScriptedCall } from './scripted-call';
import { hashText, seededNumber } from './conversation';

const deflateAsync = promisify(deflate);

const DEFAULT_SIZE = '1024x1024';
const LONGEST_SIDE = 4096;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Eight bits for each pixel, which are an index into the palette. */
const INDEXED_COLOR = [8, 3];
const COLORS = 6;

/** Images without a model: PNG files derived from the request. The mock has no host, so it never returns URLs. */
export class MockImages implements ImagesProvider {
  constructor(private readonly clock: Clock) {}

  async generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    const { count, size, quality, style, images: inputs, mask } = request;
    const scripted = new ScriptedCall(request.prompt, 'prompt', call, this.clock);
    await scripted.reply((scripted.script.delayMs ?? 0) * count);
    const [width, height] = /^\d+x\d+$/.test(size ?? '') ? sidesOf(String(size)) : sidesOf(DEFAULT_SIZE);
    const options = [quality, style].filter((option) => option !== null);
    const images: GeneratedImage[] = [];
    for (let number = 1; number <= count; number++) {
      const caption = [call.publicModel, ...options, `image ${number}`].join(' · ');
      const description = [scripted.text.trim(), ...describeInputs([...inputs, mask]), caption].join('\n');
      images.push({ bytes: await drawPng(description, width, height), revisedPrompt: null });
      scripted.check('first_token');
    }
    return { images, usage: null };
  }
}

/** Describes the input images of a request; empty without images. */
export function describeInputs(inputs: readonly (ImageFile | null)[]): string[] {
  const images = inputs.filter((image) => image !== null);
  const hash = images.reduce((sum, { bytes }) => crc32(bytes, sum), 0);
  return images.length === 0 ? [] : [`from ${images.length} images (${hash.toString(16)})`];
}

function sidesOf(size: string): [width: number, height: number] {
  const [width = 1, height = 1] = size.split('x').map((side) => Math.min(Math.max(Number(side), 1), LONGEST_SIDE));
  return [width, height];
}

/** A PNG of colored stripes, derived from the description, which is also stored in the file as text. */
async function drawPng(description: string, width: number, height: number): Promise<Buffer> {
  const seed = hashText(description);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(INDEXED_COLOR, 8);
  const palette = Buffer.from(Array.from({ length: COLORS * 3 }, (_, at) => 40 + 200 * seededNumber(seed - 1 - at)));
  // A row begins with a zero: it has no filter.
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    rows.fill(Math.floor((y * COLORS) / height), y * (width + 1) + 1, (y + 1) * (width + 1));
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('iTXt', Buffer.from(`Description\0\0\0\0\0${description}`)),
    chunk('IDAT', await deflateAsync(rows, { level: constants.Z_BEST_SPEED })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(4 + named.length + 4);
  framed.writeUInt32BE(data.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), 4 + named.length);
  return framed;
}
