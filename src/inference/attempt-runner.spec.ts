import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Metrics } from '../core/observability/metrics/catalogue';
import { RequestLog, RequestMetrics } from './request-metrics';
import type { AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import type { Deployment } from '../models/catalog-model';
import type { ProviderCall } from '../providers/contract/provider-call';
import { KeyCoolDowns } from '../providers/key-cool-downs';
import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import type { RoutingDto } from '../models/routing/routing.dto';
import { HealthService } from '../models/routing/health.service';
import type { HealthSharing } from '../models/routing/health-sharing';
import { AttemptSeries } from './attempt-runner';
import type { Candidate } from './inference.types';
import { SecretBox } from '../core/secrets/secret-box';
import { ReasoningVaults } from './reasoning-vaults';
import type { RequestReservation } from './request-reservation';

/** Each call takes so long. */
const CALL_MS = 100;
/** Moves by the calls alone. */
const clock = { now: () => Date.now(), monotonic: () => timeMs };
const DEADLINES = { connectMs: 1_000, firstTokenMs: 10_000, idleMs: 1_000, totalMs: 60_000 };

let timeMs: number;
let health: HealthService;
let probeClaimed: boolean;
let asked: string[];
let calls: ProviderCall[];

beforeEach(() => {
  timeMs = 0;
  probeClaimed = false;
  asked = [];
  calls = [];
  const sharing = {
    announce: () => Promise.resolve(),
    countFailure: () => Promise.resolve(0),
    forgetFailures: () => Promise.resolve(),
    claimProbe: () => Promise.resolve(!probeClaimed),
  } as unknown as HealthSharing;
  const routing = { breakerFailures: 5, breakerOpenMs: 30_000, providerMaxConcurrency: 10 };
  health = new HealthService(sharing, new KeyCoolDowns(clock), clock, { routing } as AppConfig);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
});
afterEach(() => jest.restoreAllMocks());

const failure = (code: ProviderErrorCode, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError(code, 'our text', { phase: 'headers', fallback: true, ...options });
const MODEL = { id: 'v/one', modality: 'text', maxOutputTokens: 8_192 };
/** Any command of Redis fails. */
const VAULTS = new ReasoningVaults({} as Redis, new SecretBox(['ab'.repeat(32)]));
const candidate = (id: string, timeouts?: Deployment['timeouts']): Candidate =>
  ({
    provider: { id },
    model: MODEL,
    deployment: { id, upstreamModel: id, timeouts },
    health: health.healthOf(id),
    load: health.loadOf(id),
  }) as unknown as Candidate;

interface Options {
  readonly routing?: RoutingDto;
  readonly atMostOnce?: boolean;
  readonly timeouts?: Deployment['timeouts'];
  readonly streamed?: boolean;
}

/** Runs a series over `a` and `b`; `outcomes` are the results of the calls, in order. */
function run(
  outcomes: (Error | string)[],
  { routing, atMostOnce, timeouts, streamed = true }: Options = {},
): Promise<string> {
  const reservation = {
    input: {
      routing: routing ?? null,
      atMostOnce,
      context: { requestId: 'req_1' },
      principal: { organizationId: 'org' },
    },
    candidates: [candidate('a', timeouts), candidate('b')],
    beginAttempt: () => asked.length + 1,
    noteFailure: () => undefined,
  } as unknown as RequestReservation;
  const metrics = new RequestMetrics(new Metrics(), new RequestLog({ logRequests: 'none' }));
  const settings = {
    health,
    metrics,
    vaults: VAULTS,
    clock,
    deadlines: DEADLINES,
    streamed,
    maxAttempts: 4,
  };
  const series = new AttemptSeries(reservation, new AbortController().signal, settings);
  const planned = outcomes.values();
  const attempt = (to: Candidate, call: ProviderCall): Promise<string> => {
    const outcome = planned.next().value ?? 'no outcome planned';
    asked.push(to.deployment.id);
    calls.push(call);
    timeMs += CALL_MS;
    return typeof outcome === 'string' ? Promise.resolve(outcome) : Promise.reject(outcome);
  };
  return series.callCandidates(attempt).then(({ answer, deploymentCall }) => {
    deploymentCall.abandon();
    return answer;
  });
}

describe('at-most-once work', () => {
  it('does not fail over after a call that may have started', async () => {
    const silence = failure('provider_timeout');
    await expect(run([silence], { atMostOnce: true })).rejects.toBe(silence);
    const outage = failure('provider_unavailable', { retrySame: true, upstream: { status: 503 } });
    await expect(run([outage], { atMostOnce: true })).rejects.toBe(outage);
    expect(asked).toEqual(['a', 'a']);
  });

  it('retries and fails over after calls that never started', async () => {
    const unreachable = failure('provider_unavailable', { phase: 'connect', retrySame: true });
    expect(await run([unreachable, unreachable, 'done'], { atMostOnce: true })).toBe('done');
    expect(asked).toEqual(['a', 'a', 'b']);
  });
});

describe('a deployment with an open circuit breaker', () => {
  beforeEach(() => health.healthOf('a').trip(-Infinity));

  it('is probed by the request that claims the probe', async () => {
    expect(await run(['recovered'])).toBe('recovered');
    expect(asked).toEqual(['a']);
  });

  it('is not followed by a fallback when the request disables fallbacks', async () => {
    const down = failure('provider_unavailable');
    await expect(run([down, 'not asked'], { routing: { allow_fallbacks: false } })).rejects.toBe(down);
    expect(asked).toEqual(['a']);
  });

  it('is skipped while another request probes it, even with fallbacks disabled', async () => {
    probeClaimed = true;
    expect(await run(['fine'], { routing: { allow_fallbacks: false } })).toBe('fine');
    expect(asked).toEqual(['b']);
  });

  it('returns provider_rate_limited with the shortest wait when no deployment may be called', async () => {
    probeClaimed = true;
    health.healthOf('b').cool(timeMs + 20_000);
    const error = await run([]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GatewayError);
    const { code, retryAfterSeconds } = error as GatewayError;
    expect([code, retryAfterSeconds]).toEqual(['provider_rate_limited', 20]);
    expect(asked).toEqual([]);
  });
});

it('logs every failed attempt once, without text from the upstream', async () => {
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

it('names the output limit of the model to every call', async () => {
  await run(['fine']);
  expect(calls[0]?.maxOutputTokens).toBe(8_192);
});

it('names the organization to every call as its owner', async () => {
  await run([failure('provider_unavailable'), 'fine']);
  expect(calls.map(({ ownerId }) => ownerId)).toEqual(['org', 'org']);
});

it('limits each attempt to the remaining time of the request', async () => {
  await run([failure('provider_unavailable'), 'fine']);
  expect(calls[0]?.deadlines).toBe(DEADLINES);
  expect(calls[1]?.deadlines.totalMs).toBe(DEADLINES.totalMs - CALL_MS);
  await run([failure('provider_unavailable'), 'fine'], { routing: { timeout_ms: 500 } });
  expect(calls.slice(2).map(({ deadlines }) => deadlines.totalMs)).toEqual([500, 500 - CALL_MS]);
});

it('stops after an internal error without counting it against the deployment', async () => {
  const bug = new TypeError('bug');
  for (let time = 0; time < 6; time++) await expect(run([bug])).rejects.toBe(bug);
  expect(health.healthOf('a')).toMatchObject({ isOpen: false, failures: 0, inFlight: 0 });
});

describe('deployment timeouts', () => {
  const timeouts = { firstTokenMs: 300_000, idleMs: 120_000 };
  const outage = failure('provider_unavailable');

  it('override the configured timeouts for calls to that deployment only', async () => {
    await run([outage, 'done'], { timeouts });
    expect(calls.map(({ deadlines }) => [deadlines.firstTokenMs, deadlines.idleMs])).toEqual([
      [300_000, 120_000],
      [DEADLINES.firstTokenMs, DEADLINES.idleMs],
    ]);
  });

  it('do not change the time limit of a non-streamed response', async () => {
    await run(['done'], { timeouts, streamed: false });
    expect(calls[0]?.deadlines).toMatchObject({ firstTokenMs: DEADLINES.firstTokenMs, idleMs: 120_000 });
  });
});

it('gives every call of a text model the reasoning vault of its organization and deployment', async () => {
  const of = jest.spyOn(VAULTS, 'of');
  await run([failure('provider_unavailable'), 'fine']);
  const vaults = calls.map(({ openVault }) => openVault?.());
  expect(of.mock.calls).toEqual([
    ['org', 'a'],
    ['org', 'b'],
  ]);
  expect(vaults).toEqual(of.mock.results.map(({ value }) => value as unknown));
});
