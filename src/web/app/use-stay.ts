import { useBlocker } from '@tanstack/react-router';
import { isLeaving } from './session-state';

/**
 * Keeps the page while `active`: Back, Forward and shortcuts do nothing.
 * @param asks whether the browser asks before it reloads, leaves or closes the page, for what the API shows only once
 */
export function useStay(active: boolean, asks: boolean): void {
  useBlocker({ shouldBlockFn: () => active, disabled: !active, enableBeforeUnload: () => asks && !isLeaving() });
}
