import { isDataUrl, readDataUrl, withoutWhiteSpace } from '../../kit/data-url';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';

/** Types by extension, for base64 and URLs that do not state one. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['json', 'application/json'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
]);

/**
 * An image, recording or document of a message. The upstream fetches URLs itself, so they are sent unchanged:
 * https://ai.google.dev/gemini-api/docs/file-input-methods
 * @throws ProviderError `validation_failed` with `param`
 */
export function toMediaPart(part: JsonObject, path: string): JsonObject {
  const { type, image_url: image, input_audio: audio, file } = part;
  if (type === 'image_url' && isJsonObject(image)) return imagePart(image['url'], `${path}.image_url.url`);
  if (type === 'input_audio' && isJsonObject(audio)) {
    return inlinePart(audio['data'], `audio/${String(audio['format'])}`, `${path}.input_audio.data`);
  }
  if (type === 'file' && isJsonObject(file)) {
    return inlinePart(file['file_data'], typeOf(file['filename']) ?? 'application/pdf', `${path}.file.file_data`);
  }
  throw unsupported(path);
}

function imagePart(url: unknown, path: string): JsonObject {
  if (typeof url !== 'string') throw unsupported(path);
  if (isDataUrl(url)) return inlinePart(url, null, path);
  const mimeType = typeOf(URL.canParse(url) ? new URL(url).pathname : url);
  return { fileData: { fileUri: url, ...(mimeType !== null && { mimeType }) } };
}

/** @param fallbackType media type of base64 that is not a data URL; `null`: only data URLs are accepted */
function inlinePart(data: unknown, fallbackType: string | null, path: string): JsonObject {
  if (typeof data !== 'string') throw unsupported(path);
  if (fallbackType !== null && !isDataUrl(data)) {
    return { inlineData: { mimeType: fallbackType, data: withoutWhiteSpace(data) } };
  }
  const { mediaType = '', base64 } = readDataUrl(data) ?? {};
  if (mediaType === '') throw unsupported(path, `${path} must be a data URL with a media type and base64.`);
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

function typeOf(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  return TYPES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? null;
}
