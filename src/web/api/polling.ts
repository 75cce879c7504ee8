import type { QueryClient } from '@tanstack/react-query';

/** A poll counts as use of the session: without input for this long, pages stop polling. */
const IDLE_AFTER_MS = 600_000;

let lastInputAt = Date.now();

/** Polls resume, all at once, with the first input after a pause and when the connection is back. */
export function watchActivity(queries: QueryClient): void {
  const noteInput = (): void => {
    const wasIdle = isIdle();
    lastInputAt = Date.now();
    if (wasIdle) void queries.refetchQueries({ type: 'active' });
  };
  window.addEventListener('online', () => void queries.refetchQueries({ type: 'active' }));
  for (const event of ['keydown', 'pointerdown', 'pointermove'] as const) {
    window.addEventListener(event, noteInput, { passive: true });
  }
}

function isIdle(): boolean {
  return Date.now() - lastInputAt > IDLE_AFTER_MS;
}

/** A `refetchInterval` that pauses while the page is not used; hidden tabs pause by themselves. */
export function pollEvery(intervalMs: number): () => number | false {
  return () => (isIdle() ? false : intervalMs);
}
