import { ProviderError } from '../../providers/contract/provider-error';

/** How long an adapter may overrun its own deadline before the call is abandoned. */
const GRACE_MS = 1_000;

/**
 * Enforces a time limit on a provider call, even if the adapter ignores its signal.
 * @param signal aborts the call earlier
 * @throws ProviderError `provider_timeout` after the limit and a grace period; the error of the call; the signal's
 * reason
 */
export async function withTimeLimit<Answer>(
  timeoutMs: number,
  signal: AbortSignal | null,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const options = { phase: 'job', fallback: false } as const;
      reject(new ProviderError('provider_timeout', 'The provider did not answer in time.', options));
      ending.abort();
    }, timeoutMs + GRACE_MS);
    if (signal === null) return;
    onAbort = () => {
      reject(signal.reason as Error);
      ending.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([call(ending.signal), end]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}
