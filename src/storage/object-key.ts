/** The names of stored objects: `<kind>/<organization>/<id>/<index>.<extension>`, all of it made by the gateway. */

export const OBJECT_KINDS = ['image', 'video', 'music'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** What belongs together: the outputs of one request or job. */
export interface ObjectOwner {
  readonly kind: ObjectKind;
  readonly organizationId: string;
  /** UUID of the request or the job. */
  readonly id: string;
}

export interface ObjectHead {
  readonly contentType: string;
  /** What a browser calls the download, for example `image-1.png`. */
  readonly fileName: string;
}

const UNKNOWN_TYPE = 'application/octet-stream';

/** Where two types share an extension the first one is served. */
const EXTENSIONS: readonly (readonly [contentType: string, extension: string])[] = [
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['image/gif', 'gif'],
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/quicktime', 'mov'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/flac', 'flac'],
  ['audio/x-flac', 'flac'],
  ['audio/ogg', 'ogg'],
  ['audio/mp4', 'm4a'],
  ['audio/aac', 'aac'],
  [UNKNOWN_TYPE, 'bin'],
];
const EXTENSION_OF = new Map(EXTENSIONS);
const TYPE_OF = new Map(EXTENSIONS.toReversed().map(([contentType, extension]) => [extension, contentType]));

/** Parts of a key between slashes. */
export const KEY_SEGMENTS = 4;

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const KEY = new RegExp(`^(${OBJECT_KINDS.join('|')})/${UUID}/${UUID}/(\\d{1,3})\\.(${[...TYPE_OF.keys()].join('|')})$`);

/**
 * The key of the output at `index`, counted from 0. A content type that is not known here is kept as bytes of no type.
 * @throws Error for ids that are no UUIDs.
 */
export function toObjectKey(owner: ObjectOwner, index: number, contentType: string): string {
  const [type = ''] = contentType.split(';', 1);
  const extension = EXTENSION_OF.get(type.trim().toLowerCase()) ?? 'bin';
  return requireObjectKey(`${toKeyPrefix(owner)}${index}.${extension}`);
}

/** What all keys of an owner begin with. */
export function toKeyPrefix({ kind, organizationId, id }: ObjectOwner): string {
  return `${kind}/${organizationId}/${id}/`;
}

/** Whether a text is such a key. Nothing else ever becomes a path or an address. */
export function isObjectKey(text: string): boolean {
  return KEY.test(text);
}

/** @throws Error: whoever hands in another text has a bug. */
export function requireObjectKey(text: string): string {
  if (!isObjectKey(text)) throw new Error(`${JSON.stringify(text)} is not the key of an object`);
  return text;
}

/** What is told of an object when it is downloaded. @throws Error for anything that is no key. */
export function headOf(key: string): ObjectHead {
  const [, kind, index, extension = ''] = KEY.exec(requireObjectKey(key)) ?? [];
  return { contentType: TYPE_OF.get(extension) ?? UNKNOWN_TYPE, fileName: `${kind}-${Number(index) + 1}.${extension}` };
}
