import { GatewayError } from '../core/errors/gateway-error';
import { ScriptedDns } from '../../test/harness/scripted-dns';
import { GuardedClient } from '../core/outbound/guarded-client';
import type { OutboundClient } from '../core/outbound/outbound-client';
import type { Quirks } from '../providers/contract/provider-call';
import { findImageUrls, ReferencedImages } from './referenced-images';

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

/** `b.example` is a private host of the operator. */
const outbound = {
  assertFetchable: async (url: string, param: string): Promise<void> => {
    asked.push(url);
    if (url.includes('b.example')) throw new GatewayError('ssrf_blocked', 'Blocked.', { param });
  },
} as OutboundClient;

function requestFor(quirks: Quirks, messages = chat.messages) {
  const request = { ...chat, messages };
  const images = new ReferencedImages(request, findImageUrls(messages), outbound, null);
  return async (): Promise<boolean> => (await images.requestFor({ quirks }, new AbortController().signal)) === request;
}

it('sends image URLs unchanged without an inputImageUrls quirk', async () => {
  expect(await requestFor({})()).toBe(true);
  expect(asked).toEqual([]);
});

it('refuses a URL of a private host when the quirk is check', async () => {
  await expect(requestFor({ inputImageUrls: 'check' })()).rejects.toMatchObject({
    code: 'ssrf_blocked',
    param: 'messages[0].content[1].image_url.url',
  });
});

it('refuses a URL whose host does not resolve when the quirk is check', async () => {
  const dns = new ScriptedDns({ 'a.example': [['93.184.216.34']] });
  const guard = new GuardedClient({
    allowCidrs: [],
    denyCidrs: [],
    denyHosts: [],
    nat64: false,
    resolve: dns.resolve,
  });
  const images = new ReferencedImages(chat, findImageUrls(chat.messages), guard, null);
  const refusal = images.requestFor({ quirks: { inputImageUrls: 'check' } }, new AbortController().signal);
  await expect(refusal).rejects.toMatchObject({
    code: 'validation_failed',
    param: 'messages[0].content[1].image_url.url',
  });
  expect(dns.asked.toSorted()).toEqual(['a.example', 'b.example']);
});

it('resolves each URL once for all deployments', async () => {
  const ask = requestFor({ inputImageUrls: 'check' }, chat.messages.slice(1).concat(chat.messages.slice(1)));
  expect([await ask(), await ask()]).toEqual([true, true]);
  expect(asked).toEqual(['https://a.example/1.png']);
});
