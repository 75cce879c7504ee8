import { Logger } from '@nestjs/common';
import type { AppConfig } from '../config/app-config';
import { systemClock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import type { RoutingDto } from '../routing/routing.dto';
import { HealthService } from '../routing/health.service';
import type { HealthSharing } from '../routing/health-sharing';
import { AttemptSeries } from './attempt-series';
import type { Candidate } from './inference.types';
import type { Meter } from './meter';

const DEADLINES = { connectMs: 1_000, firstTokenMs: 10_000, idleMs: 1_000, totalMs: 60_000 };

let health: HealthService;
let probeIsTaken: boolean;
let asked: string[];
let calls: ProviderCall[];

beforeEach(() => {
  probeIsTaken = false;
  asked = [];
  calls = [];
  const sharing = {
    announce: () => Promise.resolve(),
    countFailure: () => Promise.resolve(0),
    forgetFailures: () => Promise.resolve(),
    claimProbe: () => Promise.resolve(!probeIsTaken),
  } as unknown as HealthSharing;
  const routing = { breakerFailures: 5, breakerOpenMs: 30_000, providerMaxConcurrency: 10 };
  health = new HealthService(sharing, systemClock, { routing } as AppConfig);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
});
afterEach(() => jest.restoreAllMocks());

const failure = (code: ProviderErrorCode, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError(code, 'our text', { phase: 'headers', fallback: true, ...options });
const candidate = (id: string): Candidate =>
  ({
    provider: { id },
    model: { id: 'v/one' },
    deployment: { id, upstreamModel: id },
    health: health.healthOf(id),
    load: health.loadOf(id),
  }) as unknown as Candidate;

interface Wishes {
  readonly routing?: RoutingDto;
  readonly atMostOnce?: boolean;
}

/** Asks `a` and then `b`; the outcomes are those of the calls, in their order. */
function run(outcomes: (Error | string)[], { routing, atMostOnce }: Wishes = {}): Promise<string> {
  const meter = {
    input: { routing: routing ?? null, atMostOnce, context: { requestId: 'req_1' } },
    candidates: [candidate('a'), candidate('b')],
    beginAttempt: () => asked.length + 1,
    noteFailure: () => undefined,
  } as unknown as Meter;
  const settings = { health, clock: systemClock, deadlines: DEADLINES, maxAttempts: 4 };
  const series = new AttemptSeries(meter, new AbortController().signal, settings);
  const planned = outcomes.values();
  const attempt = (to: Candidate, call: ProviderCall): Promise<string> => {
    const outcome = planned.next().value ?? 'nothing is planned';
    asked.push(to.deployment.id);
    calls.push(call);
    return typeof outcome === 'string' ? Promise.resolve(outcome) : Promise.reject(outcome);
  };
  return series.run(attempt).then(({ answer, flight }) => {
    flight.abandon();
    return answer;
  });
}

describe('work that must not be done twice', () => {
  it('is not given to another when it may have been begun', async () => {
    const silence = failure('provider_timeout');
    await expect(run([silence], { atMostOnce: true })).rejects.toBe(silence);
    const outage = failure('provider_unavailable', { retrySame: true, upstream: { status: 503 } });
    await expect(run([outage], { atMostOnce: true })).rejects.toBe(outage);
    expect(asked).toEqual(['a', 'a']);
  });

  it('is asked for again where it surely was not', async () => {
    const unreachable = failure('provider_unavailable', { phase: 'connect', retrySame: true });
    expect(await run([unreachable, unreachable, 'done'], { atMostOnce: true })).toBe('done');
    expect(asked).toEqual(['a', 'a', 'b']);
  });
});

describe('a deployment that is away', () => {
  beforeEach(() => health.healthOf('a').trip(-Infinity));

  it('is tried by this request when it may', async () => {
    expect(await run(['well again'])).toBe('well again');
    expect(asked).toEqual(['a']);
  });

  it('has no fallback when this request tries it and wants none', async () => {
    const down = failure('provider_unavailable');
    await expect(run([down, 'not asked'], { routing: { allow_fallbacks: false } })).rejects.toBe(down);
    expect(asked).toEqual(['a']);
  });

  it('is passed over while somebody else tries it, also without fallbacks', async () => {
    probeIsTaken = true;
    expect(await run(['fine'], { routing: { allow_fallbacks: false } })).toBe('fine');
    expect(asked).toEqual(['b']);
  });

  it('leaves nobody, and says when somebody may be back', async () => {
    probeIsTaken = true;
    health.healthOf('b').cool(performance.now() + 20_000);
    const error = await run([]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GatewayError);
    const { code, retryAfterSeconds = 0 } = error as GatewayError;
    expect(code).toBe('provider_rate_limited');
    // The clock of this process goes on while the test runs.
    expect(retryAfterSeconds).toBeLessThanOrEqual(20);
    expect(retryAfterSeconds).toBeGreaterThan(10);
    expect(asked).toEqual([]);
  });
});

it('every failed attempt is told once in the log, without a word of the upstream', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn');
  const error = jest.spyOn(Logger.prototype, 'error');
  const upstream = { status: 500, code: 'boom' };
  const refused = failure('provider_error', { credentialRefused: true, upstream: { status: 401 } });
  await run([failure('provider_unavailable', { upstream, cause: new Error('their text') }), refused]).catch(() => null);
  const attempts = [...warn.mock.calls, ...error.mock.calls]
    .map(([facts]) => facts as Record<string, unknown>)
    .filter((facts) => 'attempt' in facts);
  expect(attempts).toEqual([
    expect.objectContaining({ deployment: 'a', attempt: 1, code: 'provider_unavailable', upstream }),
    expect.objectContaining({ deployment: 'b', attempt: 2, message: 'a provider refused our credential' }),
  ]);
  expect(JSON.stringify(attempts)).not.toContain('their text');
});

it('each attempt gets the time that is left, the first one all of it', async () => {
  await run([failure('provider_unavailable'), 'fine']);
  expect(calls[0]?.deadlines).toBe(DEADLINES);
  expect(calls[1]?.deadlines.totalMs).toBeLessThan(DEADLINES.totalMs);
  await run(['fine'], { routing: { timeout_ms: 500 } });
  expect(calls[2]?.deadlines.totalMs).toBeLessThanOrEqual(500);
});

it('a fault of ours ends everything, and is no provider’s', async () => {
  const bug = new TypeError('bug');
  for (let time = 0; time < 6; time++) await expect(run([bug])).rejects.toBe(bug);
  expect(health.healthOf('a')).toMatchObject({ isOpen: false, failures: 0, inFlight: 0 });
});
