import { sniffImageType } from '../../../core/types/image-format';
import { IterationQueue } from '../../../core/concurrency/iteration-queue';
import type { GeneratedImage, ImageResult } from '../../contract/images';
import { ProviderError } from '../../contract/provider-error';
import { DataSplitter } from '../../kit/data-splitter';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { transportFailure } from '../../kit/transport-error';
import type { ReplyReceiver } from '../../kit/upstream-exchange';
import { type ImageItem, readImageItem } from './image-item';
import { toImageUsage } from './media-usage';

/** Ten images of 4.8 MiB each, in base64. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
const MAX_URL_LENGTH = 8 * 1024;
/** An item large enough to be queued separately: a millisecond of work. */
const LARGE_ITEM_BYTES = 512 * 1024;

/** Shared by all replies: when many arrive at once, their images are decoded one after the other. */
const decoding = new IterationQueue();

/**
 * Reads a list of images as it arrives, and decodes each once it is complete: a reply of thirty megabytes is never one
 * string, and regardless of the number of replies, other requests never wait longer than the largest image takes.
 */
export class ImageReply implements ReplyReceiver {
  /** In order: each the image, or a description of the invalid item. */
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
    const frame = parse(this.splitter.end());
    if (frame['error'] != null) throw mapInBandError(frame, 'first_token');
    const images = this.items.filter((item) => typeof item !== 'string');
    if (images.length === 0) throw notImages(this.items.find((item) => typeof item === 'string') ?? 'no images');
    // The upstream reports the usage of all images, not of the remaining ones.
    const usage = this.sent === images.length ? toImageUsage(frame['usage']) : null;
    return { images, usage };
  }
}

/** The image, or a description of the invalid item. */
function toImage(item: ImageItem | null): GeneratedImage | string {
  if (item === null) return 'an image that is not an object';
  const { url, revised_prompt: revised } = item.fields;
  const revisedPrompt = typeof revised === 'string' && revised !== '' ? revised : null;
  if (item.bytes === undefined) return isWebAddress(url) ? { url, revisedPrompt } : 'an image without its bytes';
  if (item.bytes === null) return 'an image that is not base64';
  if (sniffImageType(item.bytes) === null) return 'an image in an unknown format';
  return { bytes: item.bytes, revisedPrompt };
}

function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && url.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(url) && URL.canParse(url);
}

function parse(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json);
    if (isJsonObject(value)) return value;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notImages();
}

/** The upstream responded with something other than images. */
function notImages(what = 'a response that is not a list of images'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
