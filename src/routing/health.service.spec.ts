import { Logger } from '@nestjs/common';
import type { AppConfig } from '../config/app-config';
import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import type { DeploymentHealth } from './deployment-health';
import type { Flight } from './flight';
import { HealthService } from './health.service';
import type { HealthNews, HealthSharing } from './health-sharing';

Logger.overrideLogger(false);

const OPEN_MS = 30_000;
const PLACES = 3;

/** Stands for Redis and the other processes. */
class OtherProcesses implements Pick<HealthSharing, 'announce' | 'claimProbe' | 'countFailure' | 'forgetFailures'> {
  readonly heard: string[] = [];
  /** Failures of all processes in a row; 0: Redis is away. */
  failures = 0;
  probeIsTaken = false;
  private tell: (news: HealthNews) => void = () => undefined;
  private state: HealthNews[] = [];

  listen(onNews: (news: HealthNews) => void): void {
    this.tell = onNews;
  }

  say(...news: HealthNews[]): void {
    news.forEach(this.tell);
  }

  announce({ kind, forMs }: HealthNews): Promise<void> {
    this.heard.push(`${kind} ${forMs}`);
    return Promise.resolve();
  }

  claimProbe(): Promise<boolean> {
    return Promise.resolve(!this.probeIsTaken);
  }

  countFailure(): Promise<number> {
    return Promise.resolve(this.failures);
  }

  forgetFailures(): Promise<void> {
    this.heard.push('forget');
    return Promise.resolve();
  }

  read(): Promise<HealthNews[]> {
    return Promise.resolve(this.state);
  }

  stop(): void {
    this.state = [];
  }
}

let nowMs: number;
let others: OtherProcesses;
let service: HealthService;
let health: DeploymentHealth;

const create = (breakerFailures: number): HealthService => {
  const routing = { breakerFailures, breakerOpenMs: OPEN_MS, providerMaxConcurrency: PLACES };
  const clock = { now: () => 0, monotonic: () => nowMs };
  return new HealthService(others as unknown as HealthSharing, clock, { routing } as AppConfig);
};

beforeEach(() => {
  nowMs = 1_000;
  others = new OtherProcesses();
  service = create(5);
  service.onModuleInit();
  health = service.healthOf('one');
});
afterEach(() => service.onApplicationShutdown());

const begin = async (of = health, provider = 'a'): Promise<Flight | null> =>
  service.begin(of, service.loadOf(provider));
const mustBegin = async (of = health, provider = 'a'): Promise<Flight> => {
  const flight = await begin(of, provider);
  if (flight === null) throw new Error('the deployment is away');
  return flight;
};
const failure = (
  code: ProviderErrorCode = 'provider_unavailable',
  options: Partial<ProviderErrorOptions> = {},
): ProviderError => new ProviderError(code, '', { phase: 'headers', fallback: true, ...options });
const fail = async (times: number, error = failure()): Promise<void> => {
  for (let time = 0; time < times; time++) (await mustBegin()).fail(error);
};

describe('a circuit', () => {
  it('opens at the fifth failure in a row, and the others are told', async () => {
    await fail(4);
    expect(health.isOpen).toBe(false);
    await fail(1);
    expect(await begin()).toBeNull();
    expect(others.heard).toEqual([`open ${OPEN_MS}`]);
    expect(health.waitMs(nowMs)).toBe(OPEN_MS);
  });

  it('stays closed when a success comes between, and the others forget the row too', async () => {
    await fail(4);
    (await mustBegin()).succeed(10);
    expect(others.heard).toEqual(['forget']);
    await fail(4);
    expect(health.isOpen).toBe(false);
  });

  it('does not add up failures that are more than a minute apart', async () => {
    await fail(4);
    nowMs += 60_000;
    await fail(4);
    expect(health.isOpen).toBe(false);
  });

  it('opens when the failures of all processes are enough', async () => {
    others.failures = 5;
    await fail(1);
    await Promise.resolve();
    expect(health.isOpen).toBe(true);
  });

  it('says nothing about other deployments, also of the same provider', async () => {
    await fail(5);
    expect(await begin(service.healthOf('two'))).not.toBeNull();
  });

  it.each<[string, ProviderError]>([
    ['the content of requests', failure('validation_failed', { fallback: false, upstream: { status: 400 } })],
    ['complaints nobody knows', failure('provider_error', { upstream: { status: 400 } })],
  ])('does not open for %s', async (_what, error) => {
    await fail(20, error);
    expect(await begin()).not.toBeNull();
  });

  it('does not open for calls that were given up', async () => {
    for (let time = 0; time < 20; time++) (await mustBegin()).abandon();
    expect(await begin()).not.toBeNull();
  });

  it('opens at once when our credential is refused', async () => {
    await fail(1, failure('provider_error', { credentialRefused: true, upstream: { status: 401 } }));
    expect(await begin()).toBeNull();
  });

  it('turns nobody away when it is switched off', async () => {
    service = create(0);
    health = service.healthOf('one');
    await fail(20);
    await fail(1, failure('provider_rate_limited', { retryAfterSeconds: 60 }));
    expect(await begin()).not.toBeNull();
  });
});

describe('an open circuit', () => {
  beforeEach(() => fail(5));

  it('lets exactly one of many calls through per 30 seconds', async () => {
    for (let round = 0; round < 3; round++) {
      nowMs += OPEN_MS;
      const flights = await Promise.all(Array.from({ length: 3 }, () => begin()));
      const [probe, ...more] = flights.filter((flight) => flight !== null);
      expect(more).toEqual([]);
      probe?.fail(failure());
      nowMs += OPEN_MS - 1;
      expect(await begin()).toBeNull();
      nowMs -= OPEN_MS - 1;
    }
  });

  it('lets none through while another process tries', async () => {
    nowMs += OPEN_MS;
    others.probeIsTaken = true;
    expect(await begin()).toBeNull();
    expect(health.waitMs(nowMs)).toBe(OPEN_MS);
  });

  it.each<[string, (probe: Flight) => void]>([
    ['a success', (probe) => probe.succeed(10)],
    ['the beginning of a stream', (probe) => probe.answered()],
    ['a refusal of the request', (probe) => probe.fail(failure('validation_failed'))],
  ])('closes everywhere with %s', async (_how, end) => {
    nowMs += OPEN_MS;
    end(await mustBegin());
    expect(health.isOpen).toBe(false);
    expect(others.heard.at(-1)).toBe('close 0');
    expect(await begin()).not.toBeNull();
  });

  it('that the beginning of a stream has closed is not opened by its end alone, whatever came between', async () => {
    nowMs += OPEN_MS;
    const probe = await mustBegin();
    probe.answered();
    probe.fail(failure());
    expect(health.isOpen).toBe(false);
  });

  it('waits for the next turn when the call that tries is given up', async () => {
    nowMs += OPEN_MS;
    (await mustBegin()).abandon();
    expect(await begin()).toBeNull();
    nowMs += OPEN_MS;
    expect(await begin()).not.toBeNull();
  });

  it('is not kept open, nor closed, by calls that began before it opened', async () => {
    const two = service.healthOf('two');
    const late = await Promise.all(['a', 'a', 'a', 'b', 'b', 'b'].map((provider) => mustBegin(two, provider)));
    others.say({ kind: 'open', deploymentId: 'two', forMs: OPEN_MS });
    nowMs += OPEN_MS - 1;
    late.pop()?.succeed(10);
    for (const flight of late) flight.fail(failure());
    expect(two.waitMs(nowMs)).toBe(1);
  });
});

describe('a rate limit', () => {
  it('rests one deployment for as long as the upstream says', async () => {
    await fail(1, failure('provider_rate_limited', { retryAfterSeconds: 7, upstream: { status: 429 } }));
    expect(health.isOpen).toBe(false);
    expect(health.waitMs(nowMs)).toBe(7_000);
    expect(await begin()).toBeNull();
    expect(await begin(service.healthOf('two'))).not.toBeNull();
    expect(others.heard).toEqual(['cool 7000']);
    nowMs += 7_000;
    expect(await begin()).not.toBeNull();
    expect(health.isUndisturbed).toBe(true);
  });

  it('is told to the others once, however many calls it refuses', async () => {
    const flights = await Promise.all(Array.from({ length: PLACES }, () => mustBegin()));
    for (const flight of flights) {
      flight.fail(failure('provider_rate_limited', { retryAfterSeconds: 7 }));
      nowMs += 300;
    }
    expect(others.heard).toEqual(['cool 7000']);
  });

  it('rests it for ten seconds when the upstream does not say', async () => {
    await fail(1, failure('provider_rate_limited'));
    expect(health.waitMs(nowMs)).toBe(10_000);
  });
});

describe('news of other processes', () => {
  it('are believed', async () => {
    others.say({ kind: 'open', deploymentId: 'one', forMs: 5_000 });
    expect(health.waitMs(nowMs)).toBe(5_000);
    others.say({ kind: 'close', deploymentId: 'one', forMs: 0 }, { kind: 'cool', deploymentId: 'one', forMs: 200 });
    expect(health.waitMs(nowMs)).toBe(200);
  });

  it('hold for deployments that are not known yet', () => {
    others.say({ kind: 'open', deploymentId: 'new', forMs: 5_000 });
    expect(service.healthOf('new').isOpen).toBe(true);
  });

  it('do not put off a call that is due', async () => {
    await fail(5);
    nowMs += OPEN_MS;
    others.say({ kind: 'open', deploymentId: 'one', forMs: OPEN_MS });
    expect(await begin()).not.toBeNull();
  });
});

describe('the places at a provider', () => {
  it('are limited, come back with the end of a call, and are not those of another provider', async () => {
    const flights = await Promise.all(Array.from({ length: PLACES }, () => mustBegin()));
    expect(await begin()).toBeNull();
    expect(await begin(service.healthOf('two'), 'a')).toBeNull();
    expect(await begin(service.healthOf('three'), 'b')).not.toBeNull();
    flights[0]?.succeed(10);
    flights[0]?.abandon();
    expect(await begin()).not.toBeNull();
    expect(await begin()).toBeNull();
  });
});

describe('the speed of a deployment', () => {
  it('is that of whole answers, or that of streams', async () => {
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

  it('is forgotten when nobody has measured it for five minutes', async () => {
    (await mustBegin()).succeed(100);
    nowMs += 300_000;
    expect(health.speed.replyMs.at(nowMs)).toBeNull();
  });
});
