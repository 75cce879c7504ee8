import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { MultipartForm } from '../../core/types/multipart-form';

/**
 * The SHA-256 of a JSON request in canonical form (RFC 8785), in hexadecimal. It ignores serialization differences
 * (member order, whitespace, `1.0` for `1`). `body` has passed the strict parser, so no information was lost.
 */
export function fingerprintJson(operation: string, body: unknown): string {
  return createHash('sha256')
    .update(`${operation}\njson\n`)
    .update(canonicalize(body) ?? '')
    .digest('hex');
}

/**
 * The SHA-256 of a form. The boundary is random on every retry, so the raw bytes cannot be compared. Boundary, field
 * order and file names do not count; name, type, size and content of every part do, and so does the order of parts with
 * the same name, which can be significant (the first of several images).
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
