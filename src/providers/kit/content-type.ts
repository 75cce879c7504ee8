/** What the content type of a reply says, as far as hosts can be trusted with it. */
const AUDIO = /^(?:audio\/|(?:application\/ogg|(?:application|binary)\/octet-stream)\s*(?:;|$))/i;

type ContentType = string | string[] | undefined;

export function isJson(contentType: ContentType): boolean {
  return typeof contentType === 'string' && contentType.toLowerCase().startsWith('application/json');
}

export function isHtml(contentType: ContentType): boolean {
  return typeof contentType === 'string' && contentType.toLowerCase().startsWith('text/html');
}

/** Some hosts send `application/octet-stream`, and some no content type at all. */
export function mayBeAudio(contentType: ContentType): boolean {
  return contentType === undefined || (typeof contentType === 'string' && AUDIO.test(contentType));
}
