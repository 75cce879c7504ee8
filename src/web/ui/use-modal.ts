import { useEffect, useRef, useSyncExternalStore, type RefObject } from 'react';
import { returnFocus } from '../app/heading-focus';

let open: readonly HTMLDialogElement[] = [];
const listeners = new Set<() => void>();

function setOpen(next: readonly HTMLDialogElement[]): void {
  open = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The modal above all others; null without any. The rest of the page is drawn below it, and not announced. */
export function useTopModal(): HTMLDialogElement | null {
  return useSyncExternalStore(subscribe, () => open.at(-1) ?? null);
}

/**
 * Opens the native element as a modal while it is mounted. It keeps the focus inside; on unmounting the focus returns
 * to the element that had it, or to the heading of the page when that is gone.
 * @param focusFirst the element that takes the focus; without one, the browser chooses
 */
export function useModal(
  focusFirst?: (dialog: HTMLDialogElement) => HTMLElement | undefined,
): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  const chosen = useRef(focusFirst);
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    if (dialog?.open === false) {
      dialog.showModal();
      chosen.current?.(dialog)?.focus();
    }
    if (dialog !== null) setOpen([...open, dialog]);
    return () => {
      setOpen(open.filter((each) => each !== dialog));
      dialog?.close();
      if (opener instanceof HTMLElement && opener !== document.body) returnFocus(opener);
    };
  }, []);
  return ref;
}
