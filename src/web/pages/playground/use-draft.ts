import { useState } from 'react';

/**
 * State that lasts until the tab of the browser closes or its user signs out, for example a prompt. `name` must be
 * unique among the drafts. What is too large for the storage lasts only while the page is open.
 */
export function useDraft<Value>(name: string, initial: Value): [Value, (next: Value) => void] {
  const key = `playground ${name}`;
  const [value, setValue] = useState<Value>(() => {
    try {
      const stored = sessionStorage.getItem(key);
      return stored === null ? initial : (JSON.parse(stored) as Value);
    } catch {
      return initial;
    }
  });
  return [
    value,
    (next) => {
      setValue(next);
      try {
        sessionStorage.setItem(key, JSON.stringify(next));
      } catch {
        sessionStorage.removeItem(key);
      }
    },
  ];
}
