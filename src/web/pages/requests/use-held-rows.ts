import { useEffect, useState, type RefObject } from 'react';

/** Whether a list is being read: the pointer or the focus is in it, or its beginning is scrolled away. */
function useReading(region: RefObject<HTMLElement | null>): boolean {
  const [reading, setReading] = useState(false);
  useEffect(() => {
    const element = region.current;
    if (element === null) return undefined;
    const update = (): void =>
      setReading(element.matches(':hover, :focus-within') || element.getBoundingClientRect().top < 0);
    const events = ['pointerenter', 'pointerleave', 'focusin', 'focusout'] as const;
    // After the event, because `focusout` comes before the focus has moved.
    const later = (): void => void setTimeout(update);
    for (const event of events) element.addEventListener(event, later);
    window.addEventListener('scroll', update, { passive: true });
    return () => {
      for (const event of events) element.removeEventListener(event, later);
      window.removeEventListener('scroll', update);
    };
  }, [region]);
  return reading;
}

interface HeldRows<Row> {
  readonly rows: readonly Row[];
  /** How many newer rows wait. */
  readonly waiting: number;
  readonly showAll: () => void;
}

/**
 * Rows of a list that grows at its top: while it is read, newer ones wait, so that the row being read stays in place.
 */
export function useHeldRows<Row extends { readonly id: string }>(
  all: readonly Row[],
  region: RefObject<HTMLElement | null>,
): HeldRows<Row> {
  const reading = useReading(region);
  const newest = all[0]?.id;
  const [first, setFirst] = useState(newest);
  const waiting = reading
    ? Math.max(
        all.findIndex(({ id }) => id === first),
        0,
      )
    : 0;
  if (waiting === 0 && first !== newest) setFirst(newest);
  return { rows: waiting === 0 ? all : all.slice(waiting), waiting, showAll: () => setFirst(newest) };
}
