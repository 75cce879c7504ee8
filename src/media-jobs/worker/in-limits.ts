import { ProviderError } from '../../providers/contract/provider-error';

/** What an adapter may overrun its own deadline by before nobody waits for it any more. */
const GRACE_MS = 1_000;

/**
 * A call to a provider that ends in time, even if the adapter does not listen to its signal.
 * @param signal when to give up before that
 * @throws ProviderError `provider_timeout` after the time, and a moment; what the call throws; the reason of the signal
 */
export async function inLimits<Answer>(
  timeoutMs: number,
  signal: AbortSignal | null,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const time = new AbortController();
  const either = signal === null ? time.signal : AbortSignal.any([signal, time.signal]);
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const options = { phase: 'job', fallback: false } as const;
      reject(new ProviderError('provider_timeout', 'The provider did not answer in time.', options));
      time.abort();
    }, timeoutMs + GRACE_MS);
    if (signal === null) return;
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([call(either), end]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}
