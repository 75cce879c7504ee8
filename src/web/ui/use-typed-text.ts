import { useState } from 'react';

interface TypedText {
  readonly text: string;
  readonly type: (text: string) => void;
}

/**
 * The text of a field for a stored value. It follows the stored one, which others may change, but keeps what was typed
 * once the reader has typed.
 */
export function useTypedText(stored: string): TypedText {
  const [typed, setTyped] = useState<string | null>(null);
  // Saved, or typed back.
  if (typed === stored) setTyped(null);
  return { text: typed ?? stored, type: setTyped };
}
