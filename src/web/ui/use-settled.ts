import { useEffect, useState } from 'react';

/** A pause in typing. */
export const TYPING_PAUSE_MS = 300;

/** The text once it has not changed for `pauseMs`; at first, the text at once. */
export function useSettled(text: string, pauseMs = TYPING_PAUSE_MS): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), pauseMs);
    return () => window.clearTimeout(timer);
  }, [text, pauseMs]);
  return settled;
}
