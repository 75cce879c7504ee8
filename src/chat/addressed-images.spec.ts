import { GatewayError } from '../common/errors/gateway-error';
import type { OutboundClient } from '../outbound/outbound-client';
import type { Quirks } from '../providers/contract/provider-call';
import { AddressedImages } from './addressed-images';
import { imageAddresses } from './image-addresses';

const picture = (url: string) => ({ type: 'image_url', image_url: { url } });
const chat = {
  model: 'local/model',
  messages: [
    { role: 'user', content: [picture('https://a.example/1.png'), picture('https://b.example/2.png')] },
    { role: 'user', content: [picture('https://a.example/1.png')] },
  ],
};

let asked: string[];
beforeEach(() => (asked = []));

/** Of the hosts, `b.example` is one of the operator's own. */
const outbound = {
  assertPublicHost: async (url: string, param: string): Promise<void> => {
    asked.push(url);
    if (url.includes('b.example')) throw new GatewayError('ssrf_blocked', 'Blocked.', { param });
  },
} as OutboundClient;

function requestFor(quirks: Quirks, messages = chat.messages) {
  const request = { ...chat, messages };
  const images = new AddressedImages(request, imageAddresses(messages), outbound, null);
  return async (): Promise<boolean> => (await images.requestFor({ quirks }, new AbortController().signal)) === request;
}

it('passes addresses on as they are where nothing is said against it', async () => {
  expect(await requestFor({})()).toBe(true);
  expect(asked).toEqual([]);
});

it('refuses an address of a host that is not public, where the upstream may be near it', async () => {
  await expect(requestFor({ imageAddresses: 'check' })()).rejects.toMatchObject({
    code: 'ssrf_blocked',
    param: 'messages[0].content[1].image_url.url',
  });
});

it('looks each address up once, however many deployments are asked', async () => {
  const ask = requestFor({ imageAddresses: 'check' }, chat.messages.slice(1).concat(chat.messages.slice(1)));
  expect([await ask(), await ask()]).toEqual([true, true]);
  expect(asked).toEqual(['https://a.example/1.png']);
});
