import { ProviderError } from '../../../contract/provider-error';
import { mapUpstreamError } from '../../../kit/map-upstream-error';
import { transportFailure } from '../../../kit/transport-error';

/** Runs a call to the provider. A directory that cannot be used is a provider that cannot be used. */
export async function asProvider<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderError ? error : transportFailure('headers', error);
  }
}

/** The refusal that an upstream with this status leads to. */
export function answered(status: number, nowMs: number): ProviderError {
  const body = Buffer.from(JSON.stringify({ error: { message: 'No such thing.', type: 'error', code: status } }));
  return mapUpstreamError({ status, headers: {}, body, phase: 'first_token', now: nowMs });
}
