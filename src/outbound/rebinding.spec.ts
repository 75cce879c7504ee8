import { Logger } from '@nestjs/common';
import { PIXEL, PublicHost } from '../../test/harness/public-host';
import { ScriptedDns } from '../../test/harness/scripted-dns';
import { isForbidden, takeAttempts } from '../../test/harness/socket-watch';
import { AddressPolicy } from './address-policy';
import { GuardedClient, type OutboundOptions } from './guarded-client';
import { connectorTo, pinnedLookup } from './guarded-connector';
import { OutboundError } from './outbound-error';

/** Names that change what they stand for between one look and the next. */
const NAME = 'images.example.com';
const OPTIONS: OutboundOptions = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
const never = new AbortController().signal;

Logger.overrideLogger(false);
let host: PublicHost;
beforeAll(async () => {
  host = await PublicHost.start([NAME]);
});
afterAll(() => host.stop());
beforeEach(() => {
  takeAttempts();
  host.seen.length = 0;
});

const clientOf = (dns: ScriptedDns, options: Partial<OutboundOptions> = {}) =>
  new GuardedClient({ ...OPTIONS, resolve: dns.resolve, ...options });
const atHost = () => ({ address: '127.0.0.1', port: host.port });

it('connects to what it has judged, whatever the name stands for a moment later', async () => {
  const dns = new ScriptedDns({ [NAME]: [['127.0.0.1'], ['127.0.0.2'], ['169.254.169.254']] });
  expect((await clientOf(dns).fetchImage(host.url('/', NAME), 'image_url', never)).bytes).toEqual(PIXEL);
  expect(dns.asked).toEqual([NAME]);
  expect(takeAttempts()).toEqual([atHost()]);
});

it('judges again what it has judged before', async () => {
  const client = clientOf(new ScriptedDns({ [NAME]: [['8.8.8.8'], ['10.0.0.1'], ['127.0.0.1'], ['127.0.0.2']] }));
  await client.assertPublicHost(host.url('/', NAME), 'webhook_url');
  const refused = { code: 'ssrf_blocked', param: 'image_url' };
  await expect(client.fetchImage(host.url('/', NAME), 'image_url', never)).rejects.toMatchObject(refused);
  await client.fetchImage(host.url('/', NAME), 'image_url', never);
  await expect(client.fetchImage(host.url('/', NAME), 'image_url', never)).rejects.toMatchObject(refused);
  expect(takeAttempts()).toEqual([atHost()]);
});

it.each([
  ['beside a good one', ['127.0.0.1', '127.0.0.2']],
  ['before a good one', ['10.0.0.1', '127.0.0.1']],
  ['of the other family', ['127.0.0.1', '::1']],
  ['in disguise', ['127.0.0.1', '::ffff:127.0.0.1']],
  ['behind NAT64', ['127.0.0.1', '64:ff9b::a00:1']],
])('opens no socket for a bad answer %s', async (_case, answers) => {
  const client = clientOf(new ScriptedDns({ [NAME]: [answers] }), { nat64: true });
  const fetching = client.fetchImage(host.url('/', NAME), 'image_url', never);
  await expect(fetching).rejects.toMatchObject({ code: 'ssrf_blocked' });
  const posting = client.postWebhook(host.url('/', NAME), {}, Buffer.from('{}'));
  await expect(posting).rejects.toMatchObject({ fault: 'blocked' });
  const artifact = client.fetchArtifact(host.url('/', NAME), { maxBytes: 1e6, timeoutMs: 60_000 }, never);
  await expect(artifact).rejects.toMatchObject({ fault: 'blocked' });
  expect(takeAttempts()).toEqual([]);
});

it('tries the good answers of a name until one listens', async () => {
  const client = clientOf(new ScriptedDns({ [NAME]: [['127.0.0.3', '127.0.0.1']] }), { allowCidrs: ['127.0.0.0/30'] });
  expect((await client.fetchImage(host.url('/', NAME), 'image_url', never)).bytes).toEqual(PIXEL);
  expect(takeAttempts()).toEqual([{ address: '127.0.0.3', port: host.port }, atHost()]);
});

it('looks at the peer before it says a word, and the watch of the tests saw the attempt', async () => {
  // Linux takes 0.0.0.0 for the machine itself: an address that was judged, and a peer that was not.
  const client = clientOf(new ScriptedDns({ [NAME]: [['0.0.0.0']] }), { allowCidrs: ['0.0.0.0'] });
  await expect(client.fetchImage(host.url('/', NAME), 'image_url', never)).rejects.toMatchObject({
    code: 'ssrf_blocked',
  });
  expect(takeAttempts().filter(isForbidden)).toEqual([{ address: '0.0.0.0', port: host.port }]);
  expect(host.seen).toEqual([]);
});

it('writes down that it has used the allow-list', async () => {
  const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
  try {
    await clientOf(new ScriptedDns({ [NAME]: [['127.0.0.1']] })).fetchImage(host.url('/', NAME), 'image_url', never);
    expect(log.mock.calls).toEqual([[{ message: 'connected to an address of the allow-list', peer: '127.0.0.1' }]]);
  } finally {
    log.mockRestore();
  }
});

describe('the connector', () => {
  const policy = new AddressPolicy(OPTIONS);
  const open = (url: string, addresses: readonly { address: string; family: 4 | 6 }[] = [], signal = never) =>
    new Promise((resolve) => {
      const options = { policy, connectTimeoutMs: 1_000, onConnected: () => undefined };
      const connector = connectorTo({ url: new URL(url), addresses }, options, signal);
      connector({ hostname: 'ignored.example', protocol: 'https:', port: '1' }, (...[error]) => resolve(error));
    });

  it('looks at literals itself: they are never looked up', async () => {
    expect(await open('https://127.0.0.2/')).toMatchObject({ fault: 'blocked' });
    expect(await open('https://[::1]/')).toMatchObject({ fault: 'blocked' });
  });

  it('does not look up by itself what nobody has looked up', async () => {
    expect(await open('https://localhost.example.com/')).toMatchObject({ fault: 'blocked' });
  });

  it('does not begin what is over', async () => {
    expect(await open(host.url('/'), [], AbortSignal.abort())).toMatchObject({ fault: 'failed' });
  });
});

it.each([true, false])('answers look-ups in the form that Node asks for them: all=%s', (all) => {
  const addresses = [
    { address: '8.8.8.8', family: 4 as const },
    { address: '2606:4700::1111', family: 6 as const },
  ];
  const answers: unknown[][] = [];
  pinnedLookup(addresses)(NAME, { all }, (...answer) => answers.push(answer));
  pinnedLookup([])(NAME, { all }, (error) => answers.push([error instanceof OutboundError]));
  expect(answers).toEqual([all ? [null, addresses] : [null, '8.8.8.8', 4], [true]]);
});
