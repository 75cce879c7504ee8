import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../core/time/clock';
import type { StreamSink } from '../../contract/chat';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError, type ProviderPhase } from '../../contract/provider-error';
import {
  cancellation,
  deadlineFailure,
  mapInBandError,
  mapUpstreamError,
  transportFailure,
} from '../../kit/upstream-errors';

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Reads the value of a key, `undefined` when it has none. Returns `undefined` for an invalid value. */
type Parser<Value> = (value: string | undefined) => Value | undefined;

const OPENING = '[[mock:';
const CLOSING = ']]';
const MAX_DURATION_MS = 600_000;
const MAX_PIECES = 100_000;

/** The fields of a script, each with its key in a directive (README, *Directives*). */
const DIRECTIVES = {
  status: ['status', count(400, 599)],
  /** The raw `Retry-After` header: not necessarily a number. */
  retryAfter: ['retry_after', (value?: string) => value],
  hang: ['hang', flag],
  garbage: ['garbage', flag],
  /** Count pieces of the response; 0 is before the first. */
  resetAfter: ['reset_after', count(0, MAX_PIECES)],
  errorAfter: ['error_after', count(0, MAX_PIECES)],
  noFinish: ['no_finish', flag],
  firstTokenMs: ['first_token', duration],
  /** Delay before each piece of the response; also `drip`. */
  delayMs: ['delay', duration],
  tokens: ['tokens', count(1, MAX_PIECES)],
  chunks: ['chunks', count(1, MAX_PIECES)],
  noUsage: ['no_usage', flag],
  usagePrompt: ['usage_prompt', count(0, Number.MAX_SAFE_INTEGER)],
  usageCompletion: ['usage_completion', count(0, Number.MAX_SAFE_INTEGER)],
  /** Jobs: the connection for the submission fails. */
  unreachable: ['unreachable', flag],
  /** Jobs: the submission fails after the job was accepted. */
  accept: ['accept', flag],
  queuedMs: ['queued', duration],
  runMs: ['run', duration],
  fail: ['fail', oneOf('content', 'error', 'timeout')],
  cancel: ['cancel', oneOf('too_late', 'requested')],
} as const satisfies Record<string, readonly [key: string, parse: Parser<unknown>]>;

/** Behaviour that a directive in the prompt requests. Absent: normal behaviour. */
export type Script = {
  readonly [Field in keyof typeof DIRECTIVES]?: Exclude<ReturnType<(typeof DIRECTIVES)[Field][1]>, undefined>;
};

const FIELDS: ReadonlyMap<string, keyof Script> = new Map([
  ...Object.entries(DIRECTIVES).map(([field, [key]]): [string, keyof Script] => [key, field as keyof Script]),
  ['drip', 'delayMs'],
]);

/**
 * One call with the latency and the failures that its text requests. Failures go through the kit's own mapping, so the
 * router and the edge cannot distinguish the mock from a real upstream that fails in the same way. Each wait ends early
 * with an error when the call is aborted or one of its deadlines passes.
 */
export class ScriptedCall {
  readonly script: Script;
  /** The text without its directives. */
  readonly text: string;
  private readonly startedAtMs: number;

  /**
   * @param param JSON path of the text, for the error
   * @throws ProviderError `validation_failed` for an invalid directive
   */
  constructor(
    text: string,
    param: string,
    private readonly call: ProviderCall,
    private readonly clock: Clock,
  ) {
    this.startedAtMs = clock.monotonic();
    this.check('headers');
    ({ script: this.script, text: this.text } = readScript(text, param));
  }

  /**
   * Waits for the first byte of the response.
   * @param replyMs additional silence while the reply is being made
   * @throws ProviderError for a failure that is scripted before the first piece
   */
  async begin(replyMs = 0): Promise<void> {
    const { hang, firstTokenMs = 0, status, retryAfter, garbage, resetAfter, errorAfter } = this.script;
    if (hang) await this.wait(Infinity, 'headers');
    if (firstTokenMs + replyMs > 0) await this.wait(firstTokenMs + replyMs, 'first_token');
    if (status !== undefined && errorAfter === undefined) {
      throw responseError(status, this.clock.now(), retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    }
    if (garbage) {
      const message = 'The provider sent a response that cannot be parsed.';
      throw new ProviderError('provider_error', message, { phase: 'first_token', fallback: true });
    }
    if (resetAfter === 0) throw transportFailure('headers', new Error('Scripted reset.'));
    if (errorAfter === 0) throw mapInBandError(errorDocument(status ?? 503), 'first_token');
  }

  /** The same for a reply that is sent whole, and may be interrupted after its first piece. */
  async reply(replyMs = 0): Promise<void> {
    await this.begin(replyMs);
    const { status, resetAfter, errorAfter } = this.script;
    if (resetAfter !== undefined) throw transportFailure('first_token', new Error('Scripted reset.'));
    if (errorAfter !== undefined) throw mapInBandError(errorDocument(status ?? 503), 'first_token');
  }

  /**
   * The pieces of a streamed reply at the scripted pace, up to its scripted failure.
   * @param delayMs before each piece, unless scripted; 0: one piece per iteration of the event loop
   */
  async *paced<Piece>(pieces: Iterable<Piece>, delayMs: number): AsyncGenerator<Piece, void, void> {
    const pauseMs = this.script.delayMs ?? delayMs;
    const { resetAfter = Infinity, errorAfter = Infinity, noFinish } = this.script;
    const failsAfter = Math.min(resetAfter, errorAfter);
    let sent = 0;
    for (const piece of pieces) {
      await (pauseMs > 0 ? this.wait(pauseMs, 'stream') : this.nextIteration('stream'));
      if (sent === failsAfter) break;
      yield piece;
      sent += 1;
    }
    if (failsAfter < Infinity) throw transportFailure('stream', new Error('Scripted failure.'));
    if (!noFinish) return;
    const message = 'The provider closed the stream before the response was complete.';
    throw new ProviderError('provider_disconnect', message, { phase: 'stream', fallback: false });
  }

  /** Writes the pieces of a streamed reply, at the receiver's speed. */
  async send<Piece>(
    pieces: Iterable<Piece>,
    delayMs: number,
    sink: StreamSink,
    format: (piece: Piece) => string | Buffer,
  ): Promise<void> {
    this.check('stream');
    for await (const piece of this.paced(pieces, delayMs)) {
      if (!sink.write(format(piece))) await sink.drained();
    }
  }

  /**
   * Waits for `durationMs`, like a silent upstream; `Infinity` waits for the deadline.
   * @throws ProviderError of the deadline that passes, or `provider_disconnect` once the call is aborted
   */
  async wait(durationMs: number, phase: ProviderPhase): Promise<void> {
    const { idleMs, firstTokenMs } = this.call.deadlines;
    const limitMs = phase === 'stream' ? idleMs : firstTokenMs - this.elapsedMs;
    const leftMs = Math.min(limitMs, this.totalLeftMs);
    try {
      const waitMs = Math.min(Math.max(Math.min(durationMs, leftMs), 0), LONGEST_TIMEOUT_MS);
      await delay(waitMs, undefined, { signal: this.call.signal });
    } catch (error) {
      throw cancellation(phase, error);
    }
    if (durationMs >= leftMs) throw deadlineFailure(phase);
  }

  /** Yields, so that a response without delays neither starves other requests nor arrives as one piece. */
  async nextIteration(phase: ProviderPhase): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.check(phase);
    if (this.totalLeftMs <= 0) throw deadlineFailure(phase);
  }

  /** @throws ProviderError when the call has been aborted */
  check(phase: ProviderPhase): void {
    if (this.call.signal.aborted) throw cancellation(phase, this.call.signal.reason);
  }

  private get elapsedMs(): number {
    return this.clock.monotonic() - this.startedAtMs;
  }

  private get totalLeftMs(): number {
    return this.call.deadlines.totalMs - this.elapsedMs;
  }
}

/** The error for an upstream response with this status. */
export function responseError(status: number, now: number, headers: Readonly<Record<string, string>> = {}) {
  const body = Buffer.from(JSON.stringify(errorDocument(status)));
  return mapUpstreamError({ status, headers, body, phase: 'first_token', now });
}

function errorDocument(status: number): unknown {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: 'The prompt requested this failure.', type, code: status } };
}

/**
 * Reads every `[[mock: key=value key …]]` of a text and removes it.
 * @param param JSON path of the text, for the error
 * @throws ProviderError `validation_failed` naming an unknown key or an invalid value
 */
export function readScript(text: string, param: string): { readonly script: Script; readonly text: string } {
  const script: Script = {};
  let rest = '';
  let from = 0;
  for (let opening = text.indexOf(OPENING); opening >= 0; opening = text.indexOf(OPENING, from)) {
    const closing = text.indexOf(CLOSING, opening);
    if (closing < 0) break;
    applyDirective(script, text.slice(opening + OPENING.length, closing), param);
    rest += text.slice(from, opening);
    from = closing + CLOSING.length;
  }
  return { script, text: rest + text.slice(from) };
}

function applyDirective(script: Script, directive: string, param: string): void {
  for (const word of directive.split(/[\s,]+/).filter((each) => each !== '')) {
    const [key = '', ...values] = word.split('=');
    const field = FIELDS.get(key);
    if (field === undefined) {
      const known = [...FIELDS.keys()].join(', ');
      throw refused(`Unknown mock directive key "${key.slice(0, 40)}". Known: ${known}.`, param);
    }
    const value = DIRECTIVES[field][1](values[0]);
    if (value === undefined) throw refused(`The mock directive key "${key}" does not accept this value.`, param);
    Object.assign(script, { [field]: value });
  }
}

/** A refusal of the request as invalid, before any work. */
export function refused(message: string, param: string): ProviderError {
  const options = { phase: 'headers', fallback: false, param, upstream: { status: 400 } } as const;
  return new ProviderError('validation_failed', message, options);
}

function flag(value: string | undefined): true | undefined {
  return value === undefined ? true : undefined;
}

function count(least: number, most: number): Parser<number> {
  return (value = '') =>
    /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined;
}

function oneOf<Word extends string>(...words: readonly Word[]): Parser<Word> {
  return (value) => words.find((word) => word === value);
}

/** `50ms`, `2s`, or a bare number of milliseconds. */
function duration(value = ''): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(value) ?? [];
  const durationMs = Number(amount) * (unit === 's' ? 1_000 : 1);
  return durationMs <= MAX_DURATION_MS ? durationMs : undefined;
}
