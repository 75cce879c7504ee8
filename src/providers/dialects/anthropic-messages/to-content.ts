import { isDataUrl, readDataUrl, withoutWhiteSpace } from '../../kit/data-url';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import type { CacheControl, DocumentBlock, ImageBlock, ImageType, TextBlock } from './messages-format';

/** https://platform.claude.com/docs/en/build-with-claude/vision: other types are refused with 400. */
const IMAGE_TYPES: readonly ImageType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const PDF_IN_BASE64 = /^\s*JVBERi/;

/** A part of a message with its path in the request. */
interface Part {
  readonly value: unknown;
  readonly path: string;
}

/** The `cache_control` of a message, part or tool: this vendor's clients send it alongside the standard fields. */
export function cacheControlOf(value: JsonObject): { cache_control?: CacheControl } {
  const { cache_control: control } = value;
  return isJsonObject(control) && control['type'] === 'ephemeral'
    ? { cache_control: control as JsonObject & CacheControl }
    : {};
}

/**
 * Text as blocks. Empty or white-space text is left out: it says nothing, and the upstream refuses it.
 * @throws ProviderError `validation_failed` for parts other than text and refusals
 */
export function toTextBlocks(content: unknown, path: string): TextBlock[] {
  return partsOf(content, path).flatMap(({ value, path: partPath }) => {
    const text = textOf(value);
    if (text === null) throw unsupported(partPath, 'This model takes only text in this place.');
    return toTextBlock(text, value);
  });
}

/** @throws ProviderError `validation_failed` for parts that the model cannot take */
export function toUserBlocks(
  content: unknown,
  path: string,
  vision: boolean | undefined,
): (TextBlock | ImageBlock | DocumentBlock)[] {
  return partsOf(content, path).flatMap((part): (TextBlock | ImageBlock | DocumentBlock)[] => {
    const { value } = part;
    const text = textOf(value);
    if (text !== null) return toTextBlock(text, value);
    if (isJsonObject(value)) {
      if (value['type'] === 'image_url') return [toImageBlock(value, part.path, vision)];
      if (value['type'] === 'file') return [toDocumentBlock(value, part.path)];
    }
    throw unsupported(part.path, 'This model takes text, images and files here.');
  });
}

function partsOf(content: unknown, path: string): Part[] {
  if (content == null) return [];
  if (!Array.isArray(content)) return [{ value: content, path }];
  return content.map((value: unknown, at) => ({ value, path: `${path}[${at}]` }));
}

/** `null` for a part that is not text. */
function textOf(part: unknown): string | null {
  if (typeof part === 'string') return part;
  if (!isJsonObject(part)) return null;
  const text = part['type'] === 'refusal' ? part['refusal'] : part['text'];
  return typeof text === 'string' && (part['type'] === 'text' || part['type'] === 'refusal') ? text : null;
}

function toTextBlock(text: string, part: unknown): TextBlock[] {
  if (text.trim() === '') return [];
  return [{ type: 'text', text, ...(isJsonObject(part) && cacheControlOf(part)) }];
}

function toImageBlock(part: JsonObject, path: string, vision: boolean | undefined): ImageBlock {
  if (vision === false) throw unsupported(path, 'This model does not take images.');
  const { image_url: image } = part;
  const url = isJsonObject(image) && typeof image['url'] === 'string' ? image['url'] : '';
  if (!isDataUrl(url)) return { type: 'image', source: { type: 'url', url }, ...cacheControlOf(part) };
  const { mediaType, base64 } = toBase64(url, `${path}.image_url.url`);
  const known = IMAGE_TYPES.find((type) => type === mediaType);
  if (known === undefined) {
    throw unsupported(`${path}.image_url.url`, 'This model takes JPEG, PNG, GIF and WebP images.');
  }
  return {
    type: 'image',
    source: { type: 'base64', media_type: known, data: base64 },
    ...cacheControlOf(part),
  };
}

function toDocumentBlock(part: JsonObject, path: string): DocumentBlock {
  const { file, citations } = part;
  const { file_data: given, filename } = isJsonObject(file) ? file : {};
  const data = typeof given === 'string' ? given : '';
  return {
    type: 'document',
    source: toDocumentSource(data, `${path}.file.file_data`),
    ...(typeof filename === 'string' && filename !== '' && { title: filename }),
    ...(asksForCitations(citations, `${path}.citations`) && { citations: { enabled: true } }),
    ...cacheControlOf(part),
  };
}

/** Reads this vendor's `citations: { enabled }` next to `file`; the standard format has no such field. */
function asksForCitations(citations: unknown, path: string): boolean {
  if (citations == null) return false;
  const { enabled } = isJsonObject(citations) ? citations : {};
  if (typeof enabled !== 'boolean') throw unsupported(path, 'This model takes citations as { "enabled": true }.');
  return enabled;
}

function toDocumentSource(given: string, path: string): DocumentBlock['source'] {
  if (!isDataUrl(given)) {
    if (PDF_IN_BASE64.test(given)) return toPdf(withoutWhiteSpace(given));
    throw unsupported(path, 'This model takes PDF and plain text files.');
  }
  const { mediaType, base64 } = toBase64(given, path);
  if (mediaType === 'application/pdf') return toPdf(base64);
  if (mediaType !== 'text/plain') throw unsupported(path, 'This model takes PDF and plain text files.');
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString('utf8') };
}

function toPdf(data: string): DocumentBlock['source'] {
  return { type: 'base64', media_type: 'application/pdf', data };
}

function toBase64(url: string, path: string): { mediaType: string; base64: string } {
  const read = readDataUrl(url);
  if (read === null) throw unsupported(path, 'A data URL must contain base64: data:<type>;base64,<data>');
  return read;
}
