/** What a PNG of these sides in pixels begins with, and zeros up to `bytes` in all: enough to be judged by, not to be seen. */
export function pngHead(width: number, height: number, bytes = 33): Buffer {
  const head = Buffer.alloc(bytes);
  head.write('89504e470d0a1a0a0000000d49484452', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}
