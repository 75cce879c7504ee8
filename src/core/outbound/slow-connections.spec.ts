import { setImmediate as nextIteration } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DistantHost } from '../../../test/harness/distant-host';
import { PublicHost } from '../../../test/harness/public-host';
import { ScriptedDns } from '../../../test/harness/scripted-dns';
import { takeAttempts } from '../../../test/harness/socket-watch';
import { GuardedClient } from './guarded-client';

/** Hosts that are far away, or behind a network that loses packets. */
const NAME = 'hooks.example.com';

Logger.overrideLogger(false);
let host: PublicHost;
let distant: DistantHost;
beforeEach(async () => {
  host = await PublicHost.start([NAME]);
  distant = await DistantHost.before(host.port);
});
afterEach(async () => {
  await distant.stop();
  await host.stop();
});

it('waits for a host that takes a second to connect, although its other address is unreachable', async () => {
  // Like a host with an IPv6 address, seen from a gateway without IPv6: only the first address can connect.
  const resolve = new ScriptedDns({ [NAME]: [['127.0.0.1', '127.0.0.2']] }).resolve;
  const rules = { allowCidrs: ['127.0.0.0/30'], denyCidrs: [], denyHosts: [], nat64: false };
  // On a busy machine the time of an address can pass while nothing runs.
  const client = new GuardedClient({ ...rules, resolve, limits: { connectMs: 60_000, webhookMs: 60_000 } });
  host.answer = (response) => response.writeHead(204).end();
  const posting = client.postWebhook(`https://${NAME}:${distant.port}/`, {}, Buffer.from('{}'));
  let attempts = takeAttempts();
  for (; attempts.length === 0; attempts = takeAttempts()) await nextIteration();
  // Its first packet was lost.
  distant.comeNearer();
  await expect(posting).resolves.toMatchObject({ status: 204 });
  expect([attempts, takeAttempts()]).toEqual([[{ address: '127.0.0.1', port: distant.port }], []]);
});
