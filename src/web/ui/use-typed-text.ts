import { type ChangeEvent, useState } from 'react';

/** Properties of a text field. */
interface TypedText {
  readonly value: string;
  readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void;
}

/**
 * A text field for a stored value. It follows the stored one, which others may change, but keeps what was typed
 * once the reader has typed.
 */
export function useTypedText(stored: string): TypedText {
  const [typed, setTyped] = useState<string | null>(null);
  // Saved, or typed back.
  if (typed === stored) setTyped(null);
  return { value: typed ?? stored, onChange: (event) => setTyped(event.currentTarget.value) };
}
