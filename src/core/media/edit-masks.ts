import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import type { ImageInput } from './image-inputs';
import { MediaProcesses } from './media-processes';
import { pngHeaderOf } from './png-chunks';

/** The color of the area to edit in a mask of black and white. */
export type MaskColor = 'black' | 'white';

/** Request to the process that converts masks. */
export interface MaskTask {
  readonly bytes: Uint8Array;
  readonly color: MaskColor;
}

const MAX_PIXELS = 4_096 * 4_096;
/** Four channels of eight bits, and the filters of the rows. */
const MAX_ROWS_BYTES = 4 * MAX_PIXELS + 65_536;
const TIMEOUT_MS = 20_000;
/** A conversion takes up to 200 MB. */
const MAX_PROCESSES = 1;

/** Converts masks for vendors that do not read transparency. */
@Injectable()
export class EditMasks implements OnModuleDestroy {
  private readonly processes = new MediaProcesses<Uint8Array>('./mask-worker', TIMEOUT_MS, MAX_PROCESSES);

  /**
   * A grey PNG of the same size: pixels that are more transparent than opaque get `color`, all others the opposite
   * color.
   * @param ownerId the organization that owns the mask; masks of several owners alternate.
   * @throws GatewayError `validation_failed` with `param: mask` unless the mask is a PNG image with such pixels,
   *   without interlacing, and of at most 4,096 × 4,096 pixels.
   */
  async toBlackAndWhite({ bytes, contentType }: ImageInput, color: MaskColor, ownerId: string): Promise<ImageInput> {
    if (contentType !== 'image/png') throw refused('mask must be a PNG image for this model.');
    const header = pngHeaderOf(bytes);
    if (header?.isInterlaced === true) throw refused('mask must not be interlaced for this model.');
    if (header !== null && (header.width * header.height > MAX_PIXELS || header.rowsBytes > MAX_ROWS_BYTES)) {
      throw refused(`mask may have at most ${MAX_PIXELS} pixels of 32 bits for this model.`);
    }
    const png = header && (await this.processes.run({ bytes, color } satisfies MaskTask, ownerId));
    if (png === null) throw refused('mask must be a PNG image whose area to edit is transparent.');
    return { bytes: Buffer.from(png.buffer, png.byteOffset, png.length), contentType };
  }

  onModuleDestroy(): Promise<void> {
    return this.processes.close();
  }
}

function refused(message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param: 'mask' });
}
