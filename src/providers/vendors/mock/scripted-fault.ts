import type { Clock } from '../../../core/time/clock';
import { ProviderError, type ProviderPhase } from '../../contract/provider-error';
import { mapInBandError, mapUpstreamError, transportFailure } from '../../kit/upstream-errors';
import type { CallTimer } from './call-timer';
import type { Script } from './script';

const POLICY_CODE = 'content_policy_violation';

/**
 * Scripted failures. They go through the kit's own mapping, so router and edge cannot distinguish the mock from a real
 * upstream that fails in the same way.
 */
export interface Fault {
  /** After how many pieces of the response, or at its end if there are fewer; 0: before the first. */
  readonly after: number;
  readonly error: ProviderError;
}

/** The scripted refusal of a request; `null` when the script has no status. */
function refusalOf(script: Script, now: number): ProviderError | null {
  const { status, retryAfter, errorAfter, filtered } = script;
  if (filtered === true) {
    return mapInBandError({ error: { message: 'The prompt asked to be refused.', code: POLICY_CODE } }, 'first_token');
  }
  if (status === undefined || errorAfter !== undefined) {
    return null;
  }
  return mapUpstreamError({
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    body: Buffer.from(JSON.stringify(errorDocument(status))),
    phase: 'first_token',
    now,
  });
}

/** The upstream's error for one of several items that it could not make. */
export function partialFailure(): ProviderError {
  return mapInBandError(errorDocument(), 'first_token');
}

/** The scripted fault of a whole reply, where a missing finish reason counts as a normal end. */
export function replyFaultOf(script: Script): ProviderError | null {
  const fault = firstFault(script);
  return fault === null || fault.kind === 'end' ? null : earlyError(fault.kind, fault.after, script);
}

/** The scripted fault of a streamed reply, and when it occurs. */
export function streamFaultOf(script: Script): Fault | null {
  const fault = firstFault(script);
  if (fault === null) {
    return null;
  }
  const { kind, after } = fault;
  return { after, error: kind === 'end' || after > 0 ? lateError(kind) : earlyError(kind, after, script) };
}

type FaultKind = 'reset' | 'error' | 'garbage' | 'end';

function firstFault(script: Script): { readonly kind: FaultKind; readonly after: number } | null {
  const faults: { kind: FaultKind; after: number | undefined }[] = [
    { kind: 'reset', after: script.resetAfter },
    { kind: 'error', after: script.errorAfter },
    { kind: 'garbage', after: script.garbageAfter },
    { kind: 'end', after: script.noFinish ? Infinity : undefined },
  ];
  let first: { kind: FaultKind; after: number } | null = null;
  for (const { kind, after } of faults) {
    if (after !== undefined && (first === null || after < first.after)) {
      first = { kind, after };
    }
  }
  return first;
}

/** Nothing has reached the client yet, so failover is possible. */
function earlyError(kind: Exclude<FaultKind, 'end'>, after: number, script: Script): ProviderError {
  switch (kind) {
    case 'reset':
      return transportFailure(after === 0 ? 'headers' : 'first_token', new Error('Scripted reset.'));
    case 'error':
      return mapInBandError(errorDocument(script.status), 'first_token');
    case 'garbage':
      return new ProviderError('provider_error', 'The provider sent a response that cannot be parsed.', {
        phase: 'first_token',
        fallback: true,
      });
  }
}

/** The client has received part of the response: the stream can only end with an error. */
function lateError(kind: FaultKind): ProviderError {
  const phase: ProviderPhase = 'stream';
  return kind === 'end'
    ? new ProviderError('provider_disconnect', 'The provider closed the stream before the response was complete.', {
        phase,
        fallback: false,
      })
    : transportFailure(phase, new Error(`Scripted ${kind}.`));
}

function errorDocument(status = 503): unknown {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: 'The prompt asked for this failure.', type, code: status } };
}

/**
 * Waits for the scripted time.
 * @param replyMs Additional silence while the reply is being made.
 * @throws ProviderError if an error status is scripted.
 */
export async function waitForFirstByte(script: Script, timer: CallTimer, clock: Clock, replyMs: number): Promise<void> {
  if (script.hang) {
    await timer.wait(Infinity, 'headers');
  }
  const waitMs = (script.firstTokenMs ?? 0) + replyMs;
  if (waitMs > 0) {
    await timer.wait(waitMs, 'first_token');
  }
  const refusal = refusalOf(script, clock.now());
  if (refusal !== null) {
    throw refusal;
  }
}

/** The same for a whole reply, which may also be interrupted. */
export async function waitForReply(script: Script, timer: CallTimer, clock: Clock, replyMs: number): Promise<void> {
  await waitForFirstByte(script, timer, clock, replyMs);
  const fault = replyFaultOf(script);
  if (fault !== null) {
    throw fault;
  }
}
