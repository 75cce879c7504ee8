import type { ImageFile } from '../contract/images';

/** The media type and its parameters are shorter than this. */
const MAX_HEAD_LENGTH = 1_024;
const SCHEME = 'data:';
const WHITE_SPACE = /\s/;

interface DataUrl {
  /**
   * In lower case, with `image/jpg`, which clients derive from the file extension, corrected to `image/jpeg`. May be
   * empty.
   */
  readonly mediaType: string;
  readonly base64: string;
}

/** The image as a data URL, for use in JSON. */
export function toDataUrl({ bytes, contentType }: ImageFile): string {
  return `data:${contentType};base64,${bytes.toString('base64')}`;
}

export function isDataUrl(url: string): boolean {
  return url.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}

/** `null` for other URLs, and for data URLs that are not base64. */
export function readDataUrl(url: string): DataUrl | null {
  const head = url.slice(0, MAX_HEAD_LENGTH);
  const comma = head.indexOf(',');
  const [mediaType = '', ...parameters] = head.slice(SCHEME.length, Math.max(comma, 0)).toLowerCase().split(';');
  if (!isDataUrl(head) || comma === -1 || parameters.at(-1)?.trim() !== 'base64') return null;
  const type = mediaType.trim();
  return { mediaType: type === 'image/jpg' ? 'image/jpeg' : type, base64: withoutWhiteSpace(url.slice(comma + 1)) };
}

/** Clients may break base64 into lines, which upstreams refuse. */
export function withoutWhiteSpace(base64: string): string {
  return WHITE_SPACE.test(base64) ? base64.replaceAll(/\s+/g, '') : base64;
}
