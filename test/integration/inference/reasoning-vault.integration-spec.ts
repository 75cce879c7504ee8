import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { createRedis } from '../../../src/core/redis/redis-client';
import { SecretBox } from '../../../src/core/secrets/secret-box';
import { ReasoningVaults } from '../../../src/inference/reasoning-vaults';
import type { ReasoningVault } from '../../../src/providers/contract/reasoning-vault';
import { FaultProxy } from '../../harness/fault-proxy';
import { createTestRedis, untilReady } from '../../harness/redis';

const STATE = '{"signature":"sealed"}';
const BOX = new SecretBox(['ab'.repeat(32)]);
const SIX_HOURS_MS = 6 * 3_600_000;
const MOST_BYTES = 16 * 1_048_576;

let redis: Redis;
let organization: string;
let deployment: string;
let vault: ReasoningVault;

beforeAll(async () => {
  redis = createRedis(createTestRedis().url);
  await untilReady(redis);
});
beforeEach(() => {
  organization = randomUUID();
  deployment = randomUUID();
  vault = new ReasoningVaults(redis, BOX).of(organization, deployment);
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => redis.disconnect());

const entriesKey = (): string => `{gateway:reasoning:${organization}}:entries`;
const usesKey = (): string => `{gateway:reasoning:${organization}}:uses`;
const fieldOf = (id: string): string => `${deployment}:${id}`;
const rewrite = (id: string, entry: string) => redis.hset(entriesKey(), fieldOf(id), entry);

it('returns what another replica stored, and nothing for other calls', async () => {
  await vault.store('call_1', STATE);
  const other = createRedis(createTestRedis().url);
  await untilReady(other);
  try {
    const loaded = await new ReasoningVaults(other, BOX).of(organization, deployment).load(['call_0', 'call_1']);
    expect([...loaded]).toEqual([['call_1', STATE]]);
  } finally {
    other.disconnect();
  }
});

it('isolates organizations and deployments that use the same tool call id', async () => {
  await vault.store('call_1', STATE);
  const vaults = new ReasoningVaults(redis, BOX);
  expect(await vaults.of(randomUUID(), deployment).load(['call_1'])).toEqual(new Map());
  expect(await vaults.of(organization, randomUUID()).load(['call_1'])).toEqual(new Map());
});

it('keeps no reasoning readable in Redis', async () => {
  await vault.store('call_1', '{"thinking":"the patient has a fever"}');
  const stored = await redis.hget(entriesKey(), fieldOf('call_1'));
  expect(stored).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]+$/);
  const bytes = Buffer.from(stored?.split('.')[2] ?? '', 'base64url').toString('latin1');
  for (const text of ['patient', 'fever', 'thinking']) expect(`${stored}${bytes}`).not.toContain(text);
  expect([...(await vault.load(['call_1'])).values()]).toEqual(['{"thinking":"the patient has a fever"}']);
});

describe('an entry that cannot be opened', () => {
  it.each<[string, (entry: string) => Promise<ReasoningVault>]>([
    [
      'under another key',
      () => Promise.resolve(new ReasoningVaults(redis, new SecretBox(['cd'.repeat(32)])).of(organization, deployment)),
    ],
    [
      'moved to another call',
      async (entry) => {
        await rewrite('call_1', entry);
        return vault;
      },
    ],
    [
      'of an older version, in plain text',
      async () => {
        await rewrite('call_1', STATE);
        return vault;
      },
    ],
  ])('%s is gone, and the log says so without its content', async (_case, reader) => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await vault.store('call_1', STATE);
    await vault.store('call_2', '{"signature":"other"}');
    const reading = await reader((await redis.hget(entriesKey(), fieldOf('call_2'))) ?? '');
    expect((await reading.load(['call_1'])).size).toBe(0);
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ event: 'reasoning_unreadable', deployment })]]);
    expect(JSON.stringify(warn.mock.calls)).not.toContain('signature');
  });
});

describe('the lifetime', () => {
  const age = (id: string, ageMs: number) => redis.zincrby(usesKey(), -ageMs, fieldOf(id));

  it('is six hours after the last use', async () => {
    await vault.store('used', STATE);
    await vault.store('unused', STATE);
    await age('used', SIX_HOURS_MS - 60_000);
    await vault.load(['used']);
    for (const id of ['used', 'unused']) await age(id, SIX_HOURS_MS - 60_000);
    expect([...(await vault.load(['used', 'unused'])).keys()]).toEqual(['used', 'unused']);
    await age('unused', SIX_HOURS_MS);
    expect([...(await vault.load(['used', 'unused'])).keys()]).toEqual(['used']);
    await vault.store('call_1', STATE);
    expect(await redis.hexists(entriesKey(), fieldOf('unused'))).toBe(0);
  });

  it('ends for all entries of an organization six hours after the last of them', async () => {
    await vault.store('call_1', STATE);
    for (const key of [entriesKey(), usesKey()]) {
      const leftMs = await redis.pttl(key);
      expect(leftMs).toBeLessThanOrEqual(SIX_HOURS_MS);
      expect(leftMs).toBeGreaterThan(SIX_HOURS_MS - 600_000);
    }
  });
});

it('keeps at most 16 MiB for an organization, without what it has not used for longest', async () => {
  const state = 'x'.repeat(60_000);
  const other = new ReasoningVaults(redis, BOX).of(randomUUID(), deployment);
  await other.store('call_0', STATE);
  for (let at = 0; at < 150; at++) await vault.store(`call_${at}`, state);
  await vault.load(['call_0']);
  for (let at = 150; at < 300; at++) await vault.store(`call_${at}`, state);
  const bytes = (await redis.hvals(entriesKey())).reduce((sum, { length }) => sum + length, 0);
  expect(bytes).toBeGreaterThan(MOST_BYTES * 0.9);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
  const load = async (id: string) => (await vault.load([id])).size;
  expect([await load('call_0'), await load('call_1'), await load('call_299')]).toEqual([1, 0, 1]);
  expect((await other.load(['call_0'])).size).toBe(1);
});

it('keeps the size of an organization when an entry is replaced', async () => {
  for (const state of [STATE, STATE.repeat(1_000), STATE]) await vault.store('call_1', state);
  const size = Number(await redis.hget(entriesKey(), ''));
  expect(size).toBe((await redis.hstrlen(entriesKey(), fieldOf('call_1'))) + 256);
});

it('stores up to 64 KiB in UTF-8 and logs larger reasoning without storing it', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  const largest = 'é'.repeat(32_768);
  await vault.store('call_1', largest);
  expect(warn).not.toHaveBeenCalled();
  await vault.store('call_2', `${largest}x`);
  expect(warn.mock.calls).toEqual([
    [expect.objectContaining({ event: 'reasoning_too_large', bytes: 65_537, deployment })],
  ]);
  expect([...(await vault.load(['call_1', 'call_2'])).keys()]).toEqual(['call_1']);
});

it('reads at most the last 128 different ids of a conversation', async () => {
  await vault.store('first', STATE);
  await vault.store('last', STATE);
  const ids = ['first', ...Array.from({ length: 127 }, (_, at) => `call_${at}`), 'last', 'last'];
  expect([...(await vault.load(ids)).keys()]).toEqual(['last']);
});

it('sends no command for a conversation without tool calls, nor for ids that no provider issues', async () => {
  const send = jest.spyOn(redis, 'sendCommand');
  await vault.load([]);
  await vault.store('x'.repeat(257), STATE);
  await vault.load(['x'.repeat(257)]);
  expect(send).not.toHaveBeenCalled();
});

describe('without Redis', () => {
  it.each([
    ['unreachable', (proxy: FaultProxy) => proxy.cutOff()],
    ['unresponsive', (proxy: FaultProxy) => proxy.fail('both', { hang: true })],
  ])('stores and loads nothing, and logs why, while Redis is %s', async (_state, breakIt) => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const proxy = await FaultProxy.start(createTestRedis().strictUrl);
    const broken = createRedis(proxy.url);
    try {
      await untilReady(broken);
      const isolated = new ReasoningVaults(broken, BOX).of(organization, deployment);
      breakIt(proxy);
      await isolated.store('call_1', STATE);
      expect(await isolated.load(['call_1'])).toEqual(new Map());
      const events = warn.mock.calls.map(([facts]) => (facts as { event?: string }).event);
      expect(events).toEqual(['reasoning_not_stored', 'reasoning_not_loaded']);
      expect(JSON.stringify(warn.mock.calls)).not.toContain('sealed');
    } finally {
      broken.disconnect();
      await proxy.close();
    }
  });
});
