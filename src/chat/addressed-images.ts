import { GatewayError } from '../common/errors/gateway-error';
import type { MemoryClaim } from '../common/request-context';
import type { Candidate } from '../inference/inference.types';
import { ByteBudget } from '../outbound/byte-budget';
import type { OutboundClient } from '../outbound/outbound-client';
import { OutboundError } from '../outbound/outbound-error';
import type { ChatRequest } from '../providers/contract/chat';
import { type ImageAddress, withImages } from './image-addresses';

const MAX_IMAGES = 20;
const MAX_TOGETHER_BYTES = 20 * 1024 * 1024;

/**
 * A request whose images are at addresses. What a deployment gets of them is its quirk `imageAddresses`: the addresses as
 * they were sent, the same once their hosts have been looked up, or what is there.
 */
export class AddressedImages {
  private checked: Promise<ChatRequest> | null = null;
  private inlined: Promise<ChatRequest> | null = null;

  constructor(
    private readonly chat: ChatRequest,
    private readonly addresses: readonly ImageAddress[],
    private readonly outbound: OutboundClient,
    private readonly memory: MemoryClaim | null,
  ) {}

  /** Does before the first attempt what that needs, so that no deployment is measured by the hosts of images. */
  async prepare(signal: AbortSignal, [first]: readonly Candidate[]): Promise<void> {
    if (first !== undefined) await this.requestFor(first, signal);
  }

  /** What a candidate is asked. @throws GatewayError `ssrf_blocked`, `validation_failed` with `param` */
  requestFor({ quirks }: Pick<Candidate, 'quirks'>, signal: AbortSignal): ChatRequest | Promise<ChatRequest> {
    switch (quirks.imageAddresses) {
      case undefined:
        return this.chat;
      case 'check':
        return (this.checked ??= this.check());
      case 'inline':
        return (this.inlined ??= this.inline(signal));
    }
  }

  private async check(): Promise<ChatRequest> {
    const checks = this.distinct().map(({ url, param }) => this.outbound.assertPublicHost(url, param));
    await Promise.all(checks);
    return this.chat;
  }

  private async inline(signal: AbortSignal): Promise<ChatRequest> {
    const images = await this.fetchAll(this.distinct(), signal);
    return { ...this.chat, messages: withImages(this.chat.messages, images) };
  }

  /** Each address once. @throws GatewayError `validation_failed` when there are too many */
  private distinct(): readonly ImageAddress[] {
    const distinct = new Map<string, ImageAddress>();
    for (const address of this.addresses) {
      if (!distinct.has(address.url)) distinct.set(address.url, address);
    }
    const addresses = [...distinct.values()];
    const excess = addresses[MAX_IMAGES];
    if (excess === undefined) return addresses;
    const message = `This model takes at most ${MAX_IMAGES} images by their addresses.`;
    throw new GatewayError('validation_failed', message, { param: excess.param });
  }

  /** All at once; the first that fails ends the others. */
  private async fetchAll(
    addresses: readonly ImageAddress[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    const budget = new ByteBudget(MAX_TOGETHER_BYTES, this.memory);
    const fetches = addresses.map(async ({ url, param }): Promise<[string, string]> => {
      const { bytes, contentType } = await this.outbound.fetchImage(url, param, either, budget);
      // It is fetched once, and goes out wherever it is referred to.
      const copies = this.addresses.filter((address) => address.url === url).length - 1;
      if (!budget.take(bytes.length * copies)) throw new OutboundError('too-many-bytes').toClientError(param);
      return [url, `data:${contentType};base64,${bytes.toString('base64')}`];
    });
    try {
      return new Map(await Promise.all(fetches));
    } finally {
      failure.abort();
    }
  }
}
