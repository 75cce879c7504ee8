import { useState } from 'react';
import { draftKey } from '../../app/drafts';
import { useCurrentUser } from '../../app/use-session';

/** Also of values that are too large for the storage of the browser; empty after the page is loaded again. */
const memory = new Map<string, unknown>();

/**
 * State of a user that lasts until the tab of the browser closes or the user signs out, for example a prompt; values
 * too large for that, such as pictures, last until the page is loaded again. `name` must be unique among the drafts.
 */
export function useDraft<Value>(
  name: string,
  initial: Value,
): [Value, (next: Value | ((current: Value) => Value)) => void] {
  const key = draftKey(useCurrentUser().id, `playground ${name}`);
  const [value, setValue] = useState<Value>(() => readDraft(key) ?? initial);
  return [
    value,
    (change) => {
      const next = isUpdate(change) ? change(readDraft(key) ?? initial) : change;
      setValue(next);
      memory.set(key, next);
      try {
        sessionStorage.setItem(key, JSON.stringify(next));
      } catch {
        sessionStorage.removeItem(key);
      }
    },
  ];
}

function isUpdate<Value>(change: Value | ((current: Value) => Value)): change is (current: Value) => Value {
  return typeof change === 'function';
}

function readDraft<Value>(key: string): Value | undefined {
  if (memory.has(key)) return memory.get(key) as Value;
  try {
    const stored = sessionStorage.getItem(key);
    return stored === null ? undefined : (JSON.parse(stored) as Value);
  } catch {
    return undefined;
  }
}
