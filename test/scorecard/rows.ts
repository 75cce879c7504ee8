/** The rows of the scorecard: what the providers do, and what a client may expect. */
import * as behaviours from './behaviours';
import type { Behaviour } from './scripted-provider';

/** Which provider's text every client must have received; `null`: none need be complete. */
export type Server = 'first' | 'second' | 'either' | null;

/** Expected charge for one call, where the scorecard knows the prices. */
export type Charge = 'price of the server' | 'nothing' | 'a part' | 'at most the hold';

export interface Expectation {
  readonly status: readonly number[];
  /** Codes of this gateway; those of others differ and are only printed. */
  readonly codes: readonly string[];
  readonly servedBy: Server;
  /** Whether the client gets the whole answer. */
  readonly isComplete: boolean;
  readonly charge: Charge;
  /** Longest call, without the slack of the machine. */
  readonly withinMs: number;
  /** Longest wait from the end of the failure until the first provider serves again, without that slack. */
  readonly recoversWithinMs: number;
  readonly hasRetryAfter?: boolean;
}

export interface Row {
  readonly name: string;
  readonly first: Behaviour | 'refuse-connections';
  readonly second: Behaviour | 'refuse-connections';
  readonly kinds: readonly ('plain' | 'stream')[];
  /** Sent one after the other in each of the parallel lanes of a kind. */
  readonly callsInSequence: number;
  readonly expectation: Expectation;
  /** Needs the time limits of the gateway under test, which are known here only for this gateway. */
  readonly needsTimeLimits: boolean;
}

/** Settings of the gateway under test that the expectations depend on. */
export interface KnownSettings {
  /** For the first byte of an answer and for silence within it. */
  readonly upstreamTimeoutMs: number;
  /** After this long an open circuit breaker permits a probe. */
  readonly breakerOpenMs: number;
}

/** Own time of the gateway, its retries and their pauses. */
const QUICK_MS = 1_500;
/** Applied by this gateway to a 429 without `Retry-After`. */
const DEFAULT_COOL_DOWN_MS = 10_000;
const RETRY_AFTER_SECONDS = 2;
/** Below every time limit in use. */
const SLOW_FALLBACK_MS = 500;

type Deviation = Partial<Omit<Row, 'expectation' | 'name'>> & { readonly expectation?: Partial<Expectation> };

export function rowsOf({ upstreamTimeoutMs, breakerOpenMs }: KnownSettings): readonly Row[] {
  /** The first provider fails, the second serves. */
  const row = (name: string, deviation: Deviation): Row => ({
    name,
    first: behaviours.sound,
    second: behaviours.sound,
    kinds: ['plain', 'stream'],
    callsInSequence: 1,
    needsTimeLimits: false,
    ...deviation,
    expectation: {
      status: [200],
      codes: [],
      servedBy: 'second',
      isComplete: true,
      charge: 'price of the server',
      withinMs: QUICK_MS,
      recoversWithinMs: breakerOpenMs,
      ...deviation.expectation,
    },
  });
  /** The failure follows the first text: no other provider may serve, and the client must learn of the failure. */
  const interrupted = (name: string, deviation: Deviation): Row =>
    row(name, {
      kinds: ['stream'],
      ...deviation,
      expectation: {
        servedBy: null,
        isComplete: false,
        codes: ['stream_interrupted', 'provider_disconnect'],
        charge: 'a part',
        ...deviation.expectation,
      },
    });
  const bothFail = (name: string, behaviour: Row['first'], expectation: Partial<Expectation>): Row =>
    row(name, {
      first: behaviour,
      second: behaviour,
      expectation: { servedBy: null, isComplete: false, charge: 'nothing', ...expectation },
    });
  const late = { withinMs: upstreamTimeoutMs + QUICK_MS };
  const rateLimit = (headers: Readonly<Record<string, string>> = {}): Behaviour =>
    behaviours.refuses(429, headers, 'rate_limit_error');
  const { refuses } = behaviours;
  return [
    row('sound providers', { expectation: { servedBy: 'first', recoversWithinMs: 0 } }),
    row(`429 with Retry-After ${RETRY_AFTER_SECONDS}`, {
      first: rateLimit({ 'retry-after': String(RETRY_AFTER_SECONDS) }),
      expectation: { recoversWithinMs: RETRY_AFTER_SECONDS * 1_000 },
    }),
    row('429 without Retry-After', {
      first: rateLimit(),
      expectation: { recoversWithinMs: DEFAULT_COOL_DOWN_MS },
    }),
    row('500', { first: refuses(500) }),
    row('503', { first: refuses(503) }),
    row('connection refused', { first: 'refuse-connections' }),
    row('connection reset', { first: behaviours.resets }),
    row('slow first token', {
      first: behaviours.neverBegins,
      kinds: ['stream'],
      expectation: late,
      needsTimeLimits: true,
    }),
    row('hang', { first: behaviours.hangs, expectation: late, needsTimeLimits: true }),
    row('stream cut before text', { first: behaviours.cutsBeforeText, kinds: ['stream'] }),
    row('empty stream', { first: behaviours.sendsNothing, kinds: ['stream'] }),
    row('error as first event', { first: behaviours.failsInFirstEvent, kinds: ['stream'] }),
    row('garbage', { first: behaviours.garbles }),
    interrupted('stream cut after text', { first: behaviours.cuts }),
    interrupted('stream stalls after text', { first: behaviours.stalls, expectation: late, needsTimeLimits: true }),
    interrupted('error inside a stream', { first: behaviours.failsInStream }),
    row('impossible usage', {
      first: behaviours.overstatesUsage,
      expectation: { servedBy: 'first', charge: 'at most the hold' },
    }),
    row('no usage', { first: behaviours.omitsUsage, expectation: { servedBy: 'first', charge: 'at most the hold' } }),
    row('bad credential', { first: refuses(401, {}, 'authentication_error') }),
    row('slow fallback', {
      first: refuses(500),
      second: behaviours.soundAfter(SLOW_FALLBACK_MS),
      expectation: { withinMs: SLOW_FALLBACK_MS + QUICK_MS },
    }),
    bothFail('all providers down', refuses(503), {
      status: [502, 503],
      codes: ['provider_unavailable', 'no_provider_available'],
    }),
    bothFail('all providers refuse connections', 'refuse-connections', {
      status: [502, 503],
      codes: ['provider_unavailable', 'no_provider_available'],
    }),
    bothFail('all providers rate limited', rateLimit({ 'retry-after': '1' }), {
      status: [429],
      codes: ['provider_rate_limited'],
      hasRetryAfter: true,
    }),
    row('flapping provider', {
      first: behaviours.alternates(refuses(503), behaviours.sound, 3),
      callsInSequence: 12,
      expectation: { servedBy: 'either' },
    }),
  ];
}
