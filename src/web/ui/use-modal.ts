import { useEffect, useRef, type RefObject } from 'react';

/**
 * Opens the native element as a modal while it is mounted. It keeps the focus inside; on unmounting the focus returns
 * to the element that had it.
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
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return ref;
}
