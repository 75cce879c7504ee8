/**
 * Dialect `openai-media`, images: `POST …/images/generations` and `…/images/edits`. Sizes, qualities and styles have
 * been checked against the catalogue and are forwarded unchanged.
 */
import { IterationQueue } from '../../../core/concurrency/iteration-queue';
import { sniffImageType } from '../../../core/types/image-format';
import {
  type GeneratedImage,
  givesImageUrls,
  type ImageRequest,
  type ImageResult,
  type ImagesProvider,
  outputFields,
} from '../../contract/images';
import type { ProviderCall, Quirks } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { toDataUrl } from '../../kit/data-url';
import { isImageUrl, notImages } from '../../kit/image-replies';
import { DataSplitter, decodeBase64, isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { type FormPart, MultipartBody } from '../../kit/multipart-body';
import { unsupported } from '../../kit/unsupported';
import { contentFiltered, mapInBandError, transportFailure } from '../../kit/upstream-errors';
import type { ReplyReceiver } from '../../kit/reply-receiver';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { detailsOf, toCount, toTotal } from '../../kit/usage';

export class OpenAiImages implements ImagesProvider {
  private readonly generations: string;
  private readonly edits: string;

  constructor(private readonly http: UpstreamHttp) {
    this.generations = http.endpoint('images/generations');
    this.edits = http.endpoint('images/edits');
  }

  generate(request: ImageRequest, call: ProviderCall): Promise<ImageResult> {
    return new Promise((resolve, reject) => {
      const reply = new ImageReply(request.count, resolve, reject);
      if (request.images.length === 0) {
        const body = JSON.stringify(toImageGeneration(request, call));
        this.http.postForPieces(this.generations, body, call, reply);
      } else {
        const edit = call.quirks.imageEdits === undefined ? toImageEdit : toImageEditJson;
        this.http.postForPieces(this.edits, edit(request, call), call, reply);
      }
    });
  }
}

/** The body of `POST …/images/generations`. Pure. */
export function toImageGeneration(request: ImageRequest, call: ProviderCall): JsonObject {
  return fieldsOf(request, call);
}

/** The body of `POST …/images/edits`. The files are not copied. */
export function toImageEdit(request: ImageRequest, call: ProviderCall): MultipartBody {
  const parts: FormPart[] = Object.entries(fieldsOf(request, call)).map(([name, value]) => ({
    name,
    value: String(value),
  }));
  // Lists use a separate field name; hosts that take only one image know only the singular name.
  const name = request.images.length > 1 ? 'image[]' : 'image';
  request.images.forEach(({ bytes, contentType }, index) =>
    parts.push({ name, fileName: `image-${index + 1}${extensionOf(contentType)}`, contentType, bytes }),
  );
  if (request.mask !== null) {
    const { bytes, contentType } = request.mask;
    parts.push({ name: 'mask', fileName: `mask${extensionOf(contentType)}`, contentType, bytes });
  }
  return new MultipartBody(parts);
}

/**
 * The body of an edit as JSON, with the images as data URLs. Pure.
 * @throws ProviderError `validation_failed` with `param` for input that the upstream does not take
 */
export function toImageEditJson(request: ImageRequest, call: ProviderCall): string {
  if (call.quirks.imageEdits === 'none') throw unsupported('image', 'This model does not take input images.');
  if (request.mask !== null) throw unsupported('mask');
  const images = request.images.map((image) => ({ type: 'image_url', url: toDataUrl(image) }));
  return JSON.stringify({ ...fieldsOf(request, call), ...(images.length === 1 ? { image: images[0] } : { images }) });
}

/** Fields that generations and edits share; unset fields are omitted. */
function fieldsOf(request: ImageRequest, { upstreamModel, quirks }: ProviderCall): Record<string, string | number> {
  const { prompt, count, size, quality, style, user } = request;
  const format = responseFormat(request, quirks);
  return {
    model: upstreamModel,
    prompt,
    n: count,
    ...(size !== null && toUpstreamSize(size, quirks)),
    ...(quality !== null && { quality }),
    ...(style !== null && { style }),
    ...outputFields(request),
    ...(user !== null && quirks.dropFields?.includes('user') !== true && { user }),
    ...(format !== null && { response_format: format }),
  };
}

/** @param size such as `1024x1536` or `auto` */
function toUpstreamSize(size: string, { imageSize }: Quirks): Record<string, string | number> {
  const [width = 0, height = 0] = size.split('x').map(Number);
  if (imageSize === undefined || !(width > 0 && height > 0)) return { size };
  if (imageSize === 'width_height') return { width, height };
  const divisor = greatestCommonDivisor(width, height);
  return { aspect_ratio: `${width / divisor}:${height / divisor}` };
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

/** `null` if the upstream has only one format and refuses the field. */
function responseFormat({ delivery }: ImageRequest, quirks: Quirks): string | null {
  const { imageResponseFormat } = quirks;
  if (imageResponseFormat === 'none') return null;
  if (delivery === 'url' && givesImageUrls(quirks)) return 'url';
  return imageResponseFormat ?? 'b64_json';
}

/** Upstreams derive the type of a file from its name. */
function extensionOf(contentType: string): string {
  return contentType.replace('image/', '.');
}

/** Ten images of 4.8 MiB each, in base64. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
/** 10^10 ticks are a dollar. */
const TICKS_PER_MICRO = 10_000;
/** An item large enough to be queued separately: a millisecond of work. */
const LARGE_ITEM_BYTES = 512 * 1024;

/** Shared by all replies: when many arrive at once, their images are decoded one after the other. */
const decoding = new IterationQueue();

/**
 * Reads a list of images as it arrives, and decodes each image once it is complete. A reply of thirty megabytes is
 * never one string, and regardless of the number of replies, other requests never wait longer than the largest image
 * takes.
 */
export class ImageReply implements ReplyReceiver {
  /** In order; each item is the image, or a description of why it is invalid. */
  private readonly items: (GeneratedImage | string)[] = [];
  private readonly splitter = new DataSplitter((item) => this.add(item));
  private sent = 0;
  private bytes = 0;
  /** Items that wait to be decoded. */
  private undecoded = 0;
  private ended = false;

  constructor(
    /** The requested number of images. */
    private readonly count: number,
    private readonly resolve: (result: ImageResult) => void,
    readonly onFailure: (error: ProviderError) => void,
  ) {}

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > MAX_REPLY_BYTES) throw notImages('a response longer than 64 MiB');
    this.splitter.push(chunk);
  }

  onEnd(): void {
    this.ended = true;
    this.concludeWhenDecoded();
  }

  private add(json: Buffer): void {
    const place = this.sent++;
    if (place >= this.count) return;
    if (json.length < LARGE_ITEM_BYTES) {
      this.items[place] = toImage(readImageItem(json));
      return;
    }
    this.undecoded++;
    void decoding.add(() => {
      this.items[place] = toImage(readImageItem(json));
      this.undecoded--;
      this.concludeWhenDecoded();
    });
  }

  private concludeWhenDecoded(): void {
    if (!this.ended || this.undecoded > 0) return;
    try {
      this.resolve(this.toResult());
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure('first_token', error));
    }
  }

  /** One invalid image does not discard the others, which have been paid for. */
  private toResult(): ImageResult {
    const frame = parseFrame(this.splitter.end());
    if (frame['error'] != null) throw mapInBandError(frame, 'first_token');
    const images = this.items.filter((item) => typeof item !== 'string');
    if (images.length === 0) {
      if (this.items.includes(WITHHELD)) throw contentFiltered();
      throw notImages(this.items.find((item) => typeof item === 'string') ?? 'no images');
    }
    // The upstream reports the usage of all images, including invalid ones. Recraft reports `credits`:
    // https://www.recraft.ai/docs/api-reference/endpoints
    const { usage: reported, credits } = frame;
    const usage = this.sent === images.length ? (toImageUsage(reported) ?? toCredits(credits)) : null;
    return { images, usage };
  }
}

/** xAI: https://github.com/vercel/ai/issues/19168 */
const WITHHELD = 'an image that moderation withheld';

/** The image, or a description of the invalid item. */
function toImage(item: ImageItem | null): GeneratedImage | string {
  if (item === null) return 'an image that is not an object';
  const { url, revised_prompt: revised, respect_moderation: isRespected } = item.fields;
  const revisedPrompt = typeof revised === 'string' && revised !== '' ? revised : null;
  if (item.bytes === undefined) {
    if (isImageUrl(url)) return { url, revisedPrompt };
    return isRespected === false ? WITHHELD : 'an image without its bytes';
  }
  if (item.bytes === null) return 'an image that is not base64';
  if (sniffImageType(item.bytes) === null) return 'an image in an unknown format';
  return { bytes: item.bytes, revisedPrompt };
}

/**
 * The `usage` of an image reply. Input tokens count as text, and output tokens as images, unless the details say
 * otherwise. The format does not report cached tokens: all are priced as uncached. Includes the vendor's own charge.
 * @returns `null` when the totals are absent or implausible
 */
export function toImageUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  // xAI: https://docs.x.ai/developers/cost-tracking
  const ticks = usage['cost_in_usd_ticks'];
  const bill = typeof ticks === 'number' && ticks > 0 ? { vendorCostMicro: ticks / TICKS_PER_MICRO } : null;
  const input = toTotal(usage['input_tokens']);
  const output = toTotal(usage['output_tokens']);
  if (input === null || output === null) return bill === null ? null : { ...NO_USAGE, ...bill };
  const inputImage = Math.min(toCount(detailsOf(usage, 'input_tokens_details')['image_tokens']), input);
  const outputText = Math.min(toCount(detailsOf(usage, 'output_tokens_details')['text_tokens']), output);
  const outputImage = output - outputText;
  return { ...NO_USAGE, inputText: input - inputImage, inputImage, outputText, outputImage, ...bill };
}

function toCredits(credits: unknown): UsageVector | null {
  return typeof credits === 'number' && credits > 0 ? { ...NO_USAGE, units: credits } : null;
}

function parseFrame(json: string): JsonObject {
  const value = parseJsonObject(json);
  if (value === null) throw notImages('a response that is not a list of images');
  return value;
}

const KEY = Buffer.from('"b64_json"');
const VALUE_START = /^\s*:\s*"/;
/** More whitespace than any server puts around a colon. */
const MAX_START_LENGTH = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** One item of a list of images. */
export interface ImageItem {
  readonly fields: JsonObject;
  /** The decoded `b64_json`; `null` when it is not base64, `undefined` when it is missing. */
  readonly bytes: Buffer | null | undefined;
}

/**
 * Reads an item without parsing its megabytes of base64 as a string, which takes twice as long as decoding them.
 * @returns `null` for anything but a JSON object
 */
function readImageItem(json: Buffer): ImageItem | null {
  const [start, end] = findBase64(json);
  const fields = parseJsonObject(Buffer.concat([json.subarray(0, start), json.subarray(end)]));
  if (fields === null) return null;
  const { b64_json: text } = fields;
  if (typeof text !== 'string') return { fields, bytes: undefined };
  if (start < end) return { fields, bytes: text === '' ? decodeBase64(json.toString('latin1', start, end)) : null };
  return { fields, bytes: text === '' ? undefined : decodeBase64(text) };
}

/** The range of the value; empty when it is missing or contains escapes that only a parser can decode. */
function findBase64(json: Buffer): readonly [start: number, end: number] {
  const key = json.indexOf(KEY);
  if (key === -1) return [0, 0];
  const afterKey = key + KEY.length;
  const head = VALUE_START.exec(json.toString('latin1', afterKey, afterKey + MAX_START_LENGTH));
  if (head === null) return [0, 0];
  const start = afterKey + head[0].length;
  const end = json.indexOf(QUOTE, start);
  return end === -1 || json.subarray(start, end).includes(BACKSLASH) ? [0, 0] : [start, end];
}
