import { useBlocker } from '@tanstack/react-router';

/** Keeps the page while `active`: Back, Forward and shortcuts do nothing. For what the API shows only once. */
export function useStay(active: boolean): void {
  useBlocker({ shouldBlockFn: () => active, disabled: !active, enableBeforeUnload: false });
}
