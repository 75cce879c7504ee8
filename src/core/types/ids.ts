import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 16 * 256;
const pool = Buffer.allocUnsafe(POOL_BYTES);
let poolOffset = POOL_BYTES;

/**
 * A UUID version 7 (RFC 9562): 48 bits of milliseconds, then random bits, so that primary keys arrive in index order.
 * Random bytes are read 4 KiB at a time: one system call serves 256 requests.
 */
export function uuidV7(nowMs: number): string {
  if (poolOffset === POOL_BYTES) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const at = poolOffset;
  poolOffset += 16;
  pool.writeUIntBE(nowMs, at, 6);
  pool[at + 6] = 0x70 | ((pool[at + 6] as number) & 0x0f);
  pool[at + 8] = 0x80 | ((pool[at + 8] as number) & 0x3f);
  const hex = pool.toString('hex', at, at + 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The public form of a request's UUID: `req_` and 32 hexadecimal digits. */
export function toRequestId(id: string): string {
  return `req_${id.replaceAll('-', '')}`;
}
