import { ProviderError } from '../../../contract/provider-error';
import { mapUpstreamError } from '../../../kit/map-upstream-error';
import { transportFailure } from '../../../kit/transport-error';

/** Runs a call to the provider. An unusable directory counts as an unreachable provider. */
export async function asProvider<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderError ? error : transportFailure('headers', error);
  }
}

/** The error for an upstream response with this status. */
export function answered(status: number, nowMs: number): ProviderError {
  const body = Buffer.from(JSON.stringify({ error: { message: 'No such thing.', type: 'error', code: status } }));
  return mapUpstreamError({ status, headers: {}, body, phase: 'first_token', now: nowMs });
}
