import { Logger } from '@nestjs/common';
import { PIXEL, PublicHost } from '../../../test/harness/public-host';
import { ScriptedDns } from '../../../test/harness/scripted-dns';
import { isForbidden, takeAttempts } from '../../../test/harness/socket-watch';
import { AddressPolicy } from './address-policy';
import { GuardedClient, type OutboundOptions } from './guarded-client';
import { connectorTo, pinnedLookup } from './guarded-connector';
import { OutboundError } from './outbound-error';

/** DNS rebinding: names that resolve differently at each lookup. */
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

it('connects to the judged address, even if the name changes afterwards', async () => {
  const dns = new ScriptedDns({ [NAME]: [['127.0.0.1'], ['127.0.0.2'], ['169.254.169.254']] });
  expect((await clientOf(dns).fetchImage(host.url('/', NAME), 'image_url', never)).bytes).toEqual(PIXEL);
  expect(dns.asked).toEqual([NAME]);
  expect(takeAttempts()).toEqual([atHost()]);
});

it('judges every lookup again', async () => {
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

it('tries the public addresses of a name until one accepts', async () => {
  const client = clientOf(new ScriptedDns({ [NAME]: [['127.0.0.3', '127.0.0.1']] }), { allowCidrs: ['127.0.0.0/30'] });
  expect((await client.fetchImage(host.url('/', NAME), 'image_url', never)).bytes).toEqual(PIXEL);
  expect(takeAttempts()).toEqual([{ address: '127.0.0.3', port: host.port }, atHost()]);
});

it('checks the peer before it sends a byte, and the socket watch records the attempt', async () => {
  // Linux connects 0.0.0.0 to the local machine: the peer differs from the judged address.
  const client = clientOf(new ScriptedDns({ [NAME]: [['0.0.0.0']] }), { allowCidrs: ['0.0.0.0'] });
  await expect(client.fetchImage(host.url('/', NAME), 'image_url', never)).rejects.toMatchObject({
    code: 'ssrf_blocked',
  });
  expect(takeAttempts().filter(isForbidden)).toEqual([{ address: '0.0.0.0', port: host.port }]);
  expect(host.seen).toEqual([]);
});

it('logs the use of the allow-list', async () => {
  const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
  try {
    await clientOf(new ScriptedDns({ [NAME]: [['127.0.0.1']] })).fetchImage(host.url('/', NAME), 'image_url', never);
    expect(log.mock.calls).toEqual([
      [{ event: 'outbound_allow_list_used', message: 'connected to an allow-listed address', peer: '127.0.0.1' }],
    ]);
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

  it('judges literals, which are never looked up', async () => {
    expect(await open('https://127.0.0.2/')).toMatchObject({ fault: 'blocked' });
    expect(await open('https://[::1]/')).toMatchObject({ fault: 'blocked' });
  });

  it('refuses a name without a prior lookup', async () => {
    expect(await open('https://localhost.example.com/')).toMatchObject({ fault: 'blocked' });
  });

  it('does not connect after an abort', async () => {
    expect(await open(host.url('/'), [], AbortSignal.abort())).toMatchObject({ fault: 'failed' });
  });
});

it.each([true, false])('answers lookups in the form that Node requests: all=%s', (all) => {
  const addresses = [
    { address: '8.8.8.8', family: 4 as const },
    { address: '2606:4700::1111', family: 6 as const },
  ];
  const answers: unknown[][] = [];
  pinnedLookup(addresses)(NAME, { all }, (...answer) => answers.push(answer));
  pinnedLookup([])(NAME, { all }, (error) => answers.push([error instanceof OutboundError]));
  expect(answers).toEqual([all ? [null, addresses] : [null, '8.8.8.8', 4], [true]]);
});
