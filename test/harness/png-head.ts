/**
 * The header of a PNG with these sides in pixels, padded with zeros to `bytes`: enough for validation, not a viewable
 * image.
 */
export function pngHead(width: number, height: number, bytes = 33): Buffer {
  const head = Buffer.alloc(bytes);
  head.write('89504e470d0a1a0a0000000d49484452', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}
