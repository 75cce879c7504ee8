import { createHash } from 'node:crypto';
import type { MultipartForm } from '../common/multipart-form';
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

/**
 * What a form asks for. Its bytes are no help: the boundary is random on every retry. So neither boundary, order of the
 * fields nor names of files count; name, type, size and content of every part do, and the order of parts of one name,
 * which can be meant: the first of several images.
 */
export function fingerprintForm(operation: string, { fields, files }: MultipartForm): string {
  const parts: string[] = [];
  const places = new Map<string, number>();
  const add = (kind: string, name: string, type: string, size: number, sha256: string): void => {
    const place = places.get(name) ?? 0;
    places.set(name, place + 1);
    parts.push(JSON.stringify([name, place, kind, type, size, sha256]));
  };
  for (const { field, contentType, bytes, sha256 } of files) add('file', field, contentType, bytes.length, sha256);
  for (const [name, values] of fields) {
    for (const value of values) {
      const sha256 = createHash('sha256').update(value).digest('hex');
      add('text', name, 'text/plain', Buffer.byteLength(value), sha256);
    }
  }
  return createHash('sha256')
    .update(`${operation}\nform\n${parts.toSorted().join('\n')}`)
    .digest('hex');
}
