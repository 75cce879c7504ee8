import { useEffect, useRef, type RefObject } from 'react';

/**
 * For a field that keeps its own text, whose value is in the address: the field follows the address, but not while the
 * reader types. The address changes later than the field, so writing every change back would undo the next key, and a
 * new field would lose the focus.
 */
export function useFollowedValue(value: string): RefObject<HTMLInputElement | null> {
  const ref = useRef<HTMLInputElement>(null);
  const followed = useRef(value);
  useEffect(() => {
    const field = ref.current;
    if (field === null) return;
    if (field.value === followed.current || field !== document.activeElement) field.value = value;
    followed.current = value;
  }, [value]);
  return ref;
}
