import { GatewayError } from '../core/errors/gateway-error';
import { ByteBudget } from '../core/outbound/byte-budget';
import type { OutboundClient } from '../core/outbound/outbound-client';
import { OutboundError } from '../core/outbound/outbound-error';
import type { MemoryClaim } from '../core/types/request-context';
import type { Candidate } from '../inference/inference.types';
import type { ChatMessage, ChatRequest } from '../providers/contract/chat';
import { isDataUrl, toDataUrl } from '../providers/kit/data-url';

const MAX_IMAGES = 20;
const MAX_TOGETHER_BYTES = 20 * 1024 * 1024;

/**
 * A request with image URLs. The quirk `inputImageUrls` decides whether a deployment gets the URLs as sent, the URLs
 * after a check of their resolved hosts, or the images inlined.
 */
export class ReferencedImages {
  private checked: Promise<ChatRequest> | null = null;
  private inlined: Promise<ChatRequest> | null = null;

  constructor(
    private readonly chat: ChatRequest,
    private readonly imageUrls: readonly ImageUrl[],
    private readonly outbound: OutboundClient,
    private readonly memory: MemoryClaim | null,
  ) {}

  /** Checks or fetches images before the first attempt, so that slow image hosts do not count against a deployment. */
  async prepare(signal: AbortSignal, [first]: readonly Candidate[]): Promise<void> {
    if (first !== undefined) await this.requestFor(first, signal);
  }

  /** The request for a candidate. @throws GatewayError `ssrf_blocked`, `validation_failed` with `param` */
  requestFor({ quirks }: Pick<Candidate, 'quirks'>, signal: AbortSignal): ChatRequest | Promise<ChatRequest> {
    switch (quirks.inputImageUrls) {
      case undefined:
        return this.chat;
      case 'check':
        return (this.checked ??= this.check());
      case 'inline':
        return (this.inlined ??= this.inline(signal));
    }
  }

  private async check(): Promise<ChatRequest> {
    const checks = this.distinct().map(({ url, param }) => this.outbound.assertFetchable(url, param));
    await Promise.all(checks);
    return this.chat;
  }

  private async inline(signal: AbortSignal): Promise<ChatRequest> {
    const images = await this.fetchAll(this.distinct(), signal);
    return { ...this.chat, messages: withImages(this.chat.messages, images) };
  }

  /** The distinct URLs. @throws GatewayError `validation_failed` when there are too many */
  private distinct(): readonly ImageUrl[] {
    const distinct = new Map<string, ImageUrl>();
    for (const imageUrl of this.imageUrls) {
      if (!distinct.has(imageUrl.url)) distinct.set(imageUrl.url, imageUrl);
    }
    const distinctUrls = [...distinct.values()];
    const excess = distinctUrls[MAX_IMAGES];
    if (excess === undefined) return distinctUrls;
    const message = `This model accepts at most ${MAX_IMAGES} image URLs.`;
    throw new GatewayError('validation_failed', message, { param: excess.param });
  }

  /** Fetches all images in parallel; the first failure aborts the others. */
  private async fetchAll(imageUrls: readonly ImageUrl[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    const budget = new ByteBudget(MAX_TOGETHER_BYTES, this.memory);
    const fetches = imageUrls.map(async ({ url, param }): Promise<[string, string]> => {
      const { bytes, contentType } = await this.outbound.fetchImage(url, param, either, budget);
      // Fetched once, but sent once per reference.
      const copies = this.imageUrls.filter((each) => each.url === url).length - 1;
      if (!budget.take(bytes.length * copies)) throw new OutboundError('too-many-bytes').toClientError(param);
      return [url, toDataUrl({ bytes, contentType })];
    });
    try {
      return new Map(await Promise.all(fetches));
    } finally {
      failure.abort();
    }
  }
}

/** An image part with a URL. */
export interface ImageUrl {
  readonly url: string;
  /** Path in the request: `messages[i].content[j].image_url.url`. */
  readonly param: string;
}

const NONE: readonly ImageUrl[] = [];

interface ImagePart {
  readonly type: string;
  readonly image_url: { readonly url: string };
}

/** The image URLs in validated messages, in order, without `data:` URLs. */
export function findImageUrls(messages: readonly ChatMessage[]): readonly ImageUrl[] {
  let found: ImageUrl[] | undefined;
  for (let index = 0; index < messages.length; index++) {
    const content = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let at = 0; at < content.length; at++) {
      const url = urlOf(content[at]);
      if (url !== null) (found ??= []).push({ url, param: `messages[${index}].content[${at}].image_url.url` });
    }
  }
  return found ?? NONE;
}

/** Replaces image URLs in messages; messages without any are returned as the same objects. */
export function withImages(
  messages: readonly ChatMessage[],
  replacements: ReadonlyMap<string, string>,
): readonly ChatMessage[] {
  return messages.map((message) => {
    const { content } = message;
    if (!Array.isArray(content) || !content.some((part) => urlOf(part) !== null)) return message;
    return { ...message, content: content.map((part) => replaced(part, replacements)) };
  });
}

function replaced(part: ImagePart, replacements: ReadonlyMap<string, string>): unknown {
  const url = replacements.get(urlOf(part) ?? '');
  return url === undefined ? part : { ...part, image_url: { ...part.image_url, url } };
}

function urlOf(part: ImagePart): string | null {
  if (part.type !== 'image_url' || isDataUrl(part.image_url.url)) return null;
  return part.image_url.url;
}
