import { createHash } from 'node:crypto';
import { writeCanonicalJson } from './canonical-json';

/** A call into the hash costs as much as a few hundred characters. */
const FLUSH_LENGTH = 8_192;

/**
 * What a request asks for, as SHA-256 in hexadecimal: clients that write the same JSON anew (other order, other spaces,
 * `1.0` for `1`) ask for the same. `body` has passed the strict parser, so nothing of it was lost on the way.
 */
export function fingerprintJson(operation: string, body: unknown): string {
  const hash = createHash('sha256');
  let waiting = `${operation}\njson\n`;
  writeCanonicalJson(body, (text) => {
    waiting += text;
    if (waiting.length < FLUSH_LENGTH) return;
    hash.update(waiting);
    waiting = '';
  });
  return hash.update(waiting).digest('hex');
}
