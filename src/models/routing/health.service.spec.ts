import { Logger } from '@nestjs/common';
import type { AppConfig } from '../../core/config/app-config';
import {
  ProviderError,
  type ProviderErrorCode,
  type ProviderErrorOptions,
} from '../../providers/contract/provider-error';
import { KeyCoolDowns } from '../../providers/key-cool-downs';
import type { DeploymentHealth } from './deployment-health';
import type { DeploymentCall } from './deployment-health';
import { type HealthEffect, healthEffectOf, HealthService } from './health.service';
import type { HealthNews, HealthSharing } from './health-sharing';

Logger.overrideLogger(false);

const OPEN_MS = 30_000;
const PLACES = 3;

/** A fake of Redis and the other processes. */
class OtherProcesses implements Pick<HealthSharing, 'announce' | 'claimProbe' | 'countFailure' | 'forgetFailures'> {
  readonly announced: string[] = [];
  /** Consecutive failures of all processes; 0: Redis is down. */
  failures = 0;
  probeIsTaken = false;
  private deliver: (news: HealthNews) => void = () => undefined;
  /** The states in Redis. */
  states: HealthNews[] = [];
  /** What happens in this process between the read in Redis and its reply. */
  beforeReply: () => unknown = () => undefined;

  listen(onNews: (news: HealthNews) => void): void {
    this.deliver = onNews;
  }

  say(...news: HealthNews[]): void {
    news.forEach(this.deliver);
  }

  announce({ kind, forMs }: HealthNews): Promise<void> {
    this.announced.push(`${kind} ${forMs}`);
    return Promise.resolve();
  }

  claimProbe(): Promise<boolean> {
    return Promise.resolve(!this.probeIsTaken);
  }

  countFailure(): Promise<number> {
    return Promise.resolve(this.failures);
  }

  forgetFailures(): Promise<void> {
    this.announced.push('forget');
    return Promise.resolve();
  }

  async read(): Promise<HealthNews[]> {
    const { states } = this;
    await this.beforeReply();
    return states;
  }

  forget(): Promise<boolean> {
    return Promise.resolve(true);
  }

  stop(): void {
    this.states = [];
  }
}

let nowMs: number;
let others: OtherProcesses;
let keys: KeyCoolDowns;
let service: HealthService;
let health: DeploymentHealth;

const create = (breakerFailures: number): HealthService => {
  const routing = { breakerFailures, breakerOpenMs: OPEN_MS, providerMaxConcurrency: PLACES };
  const clock = { now: () => 0, monotonic: () => nowMs };
  keys = new KeyCoolDowns(clock);
  return new HealthService(others as unknown as HealthSharing, keys, clock, { routing } as AppConfig);
};

beforeEach(() => {
  nowMs = 1_000;
  others = new OtherProcesses();
  service = create(5);
  service.onModuleInit();
  health = service.healthOf('one');
});
afterEach(() => service.onApplicationShutdown());

const begin = async (of = health, provider = 'a'): Promise<DeploymentCall | null> =>
  service.beginCall(of, service.loadOf(provider));
const mustBegin = async (of = health, provider = 'a'): Promise<DeploymentCall> => {
  const call = await begin(of, provider);
  if (call === null) throw new Error('the deployment is unavailable');
  return call;
};
const failure = (
  code: ProviderError['code'] = 'provider_unavailable',
  options: Partial<ProviderErrorOptions> = {},
): ProviderError => new ProviderError(code, '', { phase: 'headers', fallback: true, ...options });
const fail = async (times: number, error = failure()): Promise<void> => {
  for (let time = 0; time < times; time++) (await mustBegin()).fail(error);
};

describe('a closed circuit breaker', () => {
  it('opens and announces it after the fifth consecutive failure', async () => {
    await fail(4);
    expect(health.isOpen).toBe(false);
    await fail(1);
    expect(await begin()).toBeNull();
    expect(others.announced).toEqual([`open ${OPEN_MS}`]);
    expect(health.waitMs(nowMs)).toBe(OPEN_MS);
  });

  it('resets the failure count in all processes after a success', async () => {
    await fail(4);
    (await mustBegin()).succeed(10);
    expect(others.announced).toEqual(['forget']);
    await fail(4);
    expect(health.isOpen).toBe(false);
  });

  it('does not add up failures more than a minute apart', async () => {
    await fail(4);
    nowMs += 60_000;
    await fail(4);
    expect(health.isOpen).toBe(false);
  });

  it('opens when the failures of all processes reach the limit', async () => {
    others.failures = 5;
    await fail(1);
    await Promise.resolve();
    expect(health.isOpen).toBe(true);
  });

  it('does not affect other deployments, even of the same provider', async () => {
    await fail(5);
    expect(await begin(service.healthOf('two'))).not.toBeNull();
  });

  it.each<[string, ProviderError]>([
    ['rejected request content', failure('validation_failed', { fallback: false, upstream: { status: 400 } })],
    ['unknown 4xx responses', failure('provider_error', { upstream: { status: 400 } })],
  ])('does not open for %s', async (_what, error) => {
    await fail(20, error);
    expect(await begin()).not.toBeNull();
  });

  it('does not open for abandoned calls', async () => {
    for (let time = 0; time < 20; time++) (await mustBegin()).abandon();
    expect(await begin()).not.toBeNull();
  });

  it('opens at once when our credential is refused', async () => {
    await fail(1, failure('provider_error', { credentialRefused: true, upstream: { status: 401 } }));
    expect(await begin()).toBeNull();
  });

  it('refuses no calls when it is disabled', async () => {
    service = create(0);
    health = service.healthOf('one');
    await fail(20);
    await fail(1, failure('provider_rate_limited', { retryAfterSeconds: 60 }));
    expect(await begin()).not.toBeNull();
  });
});

describe('an open circuit breaker', () => {
  beforeEach(() => fail(5));

  it('allows exactly one probe per 30 seconds', async () => {
    for (let round = 0; round < 3; round++) {
      nowMs += OPEN_MS;
      const calls = await Promise.all(Array.from({ length: 3 }, () => begin()));
      const [probe, ...more] = calls.filter((call) => call !== null);
      expect(more).toEqual([]);
      probe?.fail(failure());
      nowMs += OPEN_MS - 1;
      expect(await begin()).toBeNull();
      nowMs -= OPEN_MS - 1;
    }
  });

  it('allows no call while another process probes', async () => {
    nowMs += OPEN_MS;
    others.probeIsTaken = true;
    expect(await begin()).toBeNull();
    expect(health.waitMs(nowMs)).toBe(OPEN_MS);
  });

  it.each<[string, (probe: DeploymentCall) => void]>([
    ['a success', (probe) => probe.succeed(10)],
    ['the beginning of a stream', (probe) => probe.answered()],
    ['a refusal of the request', (probe) => probe.fail(failure('validation_failed'))],
  ])('closes in all processes after %s', async (_how, end) => {
    nowMs += OPEN_MS;
    end(await mustBegin());
    expect(health.isOpen).toBe(false);
    expect(others.announced.at(-1)).toBe('close 0');
    expect(await begin()).not.toBeNull();
  });

  it('stays closed when the stream of the successful probe fails later', async () => {
    nowMs += OPEN_MS;
    const probe = await mustBegin();
    probe.answered();
    probe.fail(failure());
    expect(health.isOpen).toBe(false);
  });

  it('waits for the next probe time when the probe is abandoned', async () => {
    nowMs += OPEN_MS;
    (await mustBegin()).abandon();
    expect(await begin()).toBeNull();
    nowMs += OPEN_MS;
    expect(await begin()).not.toBeNull();
  });

  it('ignores the outcome of calls that began before it opened', async () => {
    const two = service.healthOf('two');
    const late = await Promise.all(['a', 'a', 'a', 'b', 'b', 'b'].map((provider) => mustBegin(two, provider)));
    others.say({ kind: 'open', id: 'two', forMs: OPEN_MS });
    nowMs += OPEN_MS - 1;
    late.pop()?.succeed(10);
    for (const call of late) call.fail(failure());
    expect(two.waitMs(nowMs)).toBe(1);
  });
});

describe('a rate limit', () => {
  it('cools one deployment down for the duration of Retry-After', async () => {
    await fail(1, failure('provider_rate_limited', { retryAfterSeconds: 7, upstream: { status: 429 } }));
    expect(health.isOpen).toBe(false);
    expect(health.waitMs(nowMs)).toBe(7_000);
    expect(await begin()).toBeNull();
    expect(await begin(service.healthOf('two'))).not.toBeNull();
    expect(others.announced).toEqual(['cool 7000']);
    nowMs += 7_000;
    expect(await begin()).not.toBeNull();
    expect(health.isUndisturbed).toBe(true);
  });

  it('is announced once for several refused calls', async () => {
    const calls = await Promise.all(Array.from({ length: PLACES }, () => mustBegin()));
    for (const call of calls) {
      call.fail(failure('provider_rate_limited', { retryAfterSeconds: 7 }));
      nowMs += 300;
    }
    expect(others.announced).toEqual(['cool 7000']);
  });

  it('cools the deployment down for ten seconds without Retry-After', async () => {
    await fail(1, failure('provider_rate_limited'));
    expect(health.waitMs(nowMs)).toBe(10_000);
  });
});

describe('health updates of other processes', () => {
  it('apply to this process', async () => {
    others.say({ kind: 'open', id: 'one', forMs: 5_000 });
    expect(health.waitMs(nowMs)).toBe(5_000);
    others.say({ kind: 'close', id: 'one', forMs: 0 }, { kind: 'cool', id: 'one', forMs: 200 });
    expect(health.waitMs(nowMs)).toBe(200);
  });

  it('apply to deployments that this process has not called yet', () => {
    others.say({ kind: 'open', id: 'new', forMs: 5_000 });
    expect(service.healthOf('new').isOpen).toBe(true);
  });

  it.each<[string, HealthNews, () => unknown]>([
    ['was reset here', { kind: 'open', id: 'one', forMs: OPEN_MS }, () => service.reset('one')],
    [
      'was reset in another process',
      { kind: 'open', id: 'one', forMs: OPEN_MS },
      () => others.say({ kind: 'reset', id: 'one', forMs: 0 }),
    ],
    ['was reset here and had a cool-down', { kind: 'cool', id: 'one', forMs: OPEN_MS }, () => service.reset('one')],
  ])('do not affect a deployment again that %s since they were read', async (_what, state, change) => {
    others.states = [state];
    await service.poll();
    expect(await begin()).toBeNull();
    others.beforeReply = change;
    await service.poll();
    expect(await begin()).not.toBeNull();
  });

  it('do not cool down a key again that became ready since they were read', async () => {
    others.states = [{ kind: 'key', id: 'key', forMs: 60_000 }];
    await service.poll();
    expect(keys.waitMs('key')).toBe(60_000);
    others.beforeReply = () => keys.end('key');
    await service.poll();
    expect(keys.waitMs('key')).toBe(0);
  });

  it('do not delay a probe that is due', async () => {
    await fail(5);
    nowMs += OPEN_MS;
    others.say({ kind: 'open', id: 'one', forMs: OPEN_MS });
    expect(await begin()).not.toBeNull();
  });
});

describe('the concurrency limit of a provider', () => {
  it('refuses calls at capacity, frees a slot when a call ends, and is separate per provider', async () => {
    const calls = await Promise.all(Array.from({ length: PLACES }, () => mustBegin()));
    expect(await begin()).toBeNull();
    expect(await begin(service.healthOf('two'), 'a')).toBeNull();
    expect(await begin(service.healthOf('three'), 'b')).not.toBeNull();
    calls[0]?.succeed(10);
    calls[0]?.abandon();
    expect(await begin()).not.toBeNull();
    expect(await begin()).toBeNull();
  });
});

describe('the speed of a deployment', () => {
  it('is measured separately for whole responses and streams', async () => {
    const reply = await mustBegin();
    const stream = await mustBegin();
    nowMs += 400;
    reply.succeed(100);
    stream.answered();
    nowMs += 2_000;
    stream.succeed(1_000);
    expect(health.speed.replyMs.at(nowMs)).toBe(400);
    expect(health.speed.firstTokenMs.at(nowMs)).toBe(400);
    expect(health.speed.bytesPerSecond.at(nowMs)).toBe(250 + 0.2 * (500 - 250));
  });

  it('has no bytes per second without text output, as for images and embeddings', async () => {
    (await mustBegin()).succeed(0);
    expect(health.speed.bytesPerSecond.at(nowMs)).toBeNull();
  });

  it('expires after five minutes without a measurement', async () => {
    (await mustBegin()).succeed(100);
    nowMs += 300_000;
    expect(health.speed.replyMs.at(nowMs)).toBeNull();
  });
});

const effectOf = (
  code: ProviderErrorCode,
  status?: number,
  options: Partial<ProviderErrorOptions> = {},
): HealthEffect =>
  healthEffectOf(
    new ProviderError(code, '', {
      phase: 'headers',
      fallback: true,
      ...options,
      ...(status && { upstream: { status } }),
    }),
  );

describe('healthEffectOf', () => {
  it.each<[string, HealthEffect, HealthEffect]>([
    ['an outage', effectOf('provider_unavailable', 503), 'failure'],
    ['no connection', effectOf('provider_unavailable', undefined, { phase: 'connect' }), 'failure'],
    ['no response', effectOf('provider_timeout'), 'failure'],
    ['an upstream timeout', effectOf('provider_timeout', 408), 'failure'],
    ['a cut connection', effectOf('provider_disconnect'), 'failure'],
    ['a broken stream', effectOf('stream_interrupted'), 'failure'],
    ['an invalid response with status 200', effectOf('provider_error', 200), 'failure'],
    ['an unknown model', effectOf('provider_error', 404), 'failure'],
    ['a refusal that may be about the prompt', effectOf('provider_error', 403, { credentialRefused: true }), 'failure'],
    ['our refused key', effectOf('provider_error', 401, { credentialRefused: true }), 'refused'],
    ['our empty account', effectOf('provider_error', 429, { credentialRefused: true }), 'refused'],
    [
      'our empty account, by a 403',
      effectOf('provider_error', 403, { credentialRefused: true, outOfCredit: true }),
      'refused',
    ],
    ['a rate limit', effectOf('provider_rate_limited', 429), 'limited'],
    ['the content of the request', effectOf('validation_failed', 400), 'none'],
    ['an unknown 4xx response', effectOf('provider_error', 409), 'none'],
  ])('%s', (_what, effect, expected) => {
    expect(effect).toBe(expected);
  });
});
