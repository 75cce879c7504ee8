import { ProviderError, type ProviderPhase } from '../../contract/provider-error';
import { mapInBandError, mapUpstreamError } from '../../kit/map-upstream-error';
import { transportFailure } from '../../kit/transport-error';
import type { Script } from './script';

const POLICY_CODE = 'content_policy_violation';

/**
 * The failures that a script asks for. They go through the kit's own mapping, so that router and edge cannot tell
 * the mock from a real upstream that misbehaves in the same way.
 */
export interface Fault {
  /** After how many pieces of the answer, or at its end if there are fewer; 0: before anything of it has arrived. */
  readonly after: number;
  readonly error: ProviderError;
}

/** The reply to a request that is refused outright; `null` when the script names no status for it. */
export function refusalOf(script: Script, now: number): ProviderError | null {
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

/** What the upstream says of the one thing among several that it could not make. */
export function partialFailure(): ProviderError {
  return mapInBandError(errorDocument(), 'first_token');
}

/** What goes wrong with a reply that is read whole. A missing finish reason is taken for a proper end there. */
export function replyFaultOf(script: Script): ProviderError | null {
  const fault = firstFault(script);
  return fault === null || fault.kind === 'end' ? null : earlyError(fault.kind, fault.after, script);
}

/** What goes wrong with a streamed reply, and when. */
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

/** Nothing has reached the client yet, so that another provider may be asked. */
function earlyError(kind: Exclude<FaultKind, 'end'>, after: number, script: Script): ProviderError {
  switch (kind) {
    case 'reset':
      return transportFailure(after === 0 ? 'headers' : 'first_token', new Error('Scripted reset.'));
    case 'error':
      return mapInBandError(errorDocument(script.status), 'first_token');
    case 'garbage':
      return new ProviderError('provider_error', 'The provider sent an answer that cannot be read.', {
        phase: 'first_token',
        fallback: true,
      });
  }
}

/** The client has seen a part of the answer: all that is left is to say how it ended. */
function lateError(kind: FaultKind): ProviderError {
  const phase: ProviderPhase = 'stream';
  return kind === 'end'
    ? new ProviderError('provider_disconnect', 'The provider closed the stream before it had finished.', {
        phase,
        fallback: false,
      })
    : transportFailure(phase, new Error(`Scripted ${kind}.`));
}

function errorDocument(status = 503): unknown {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: 'The prompt asked for this failure.', type, code: status } };
}
