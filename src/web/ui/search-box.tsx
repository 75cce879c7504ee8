import { useEffect, useRef, useState } from 'react';
import { TYPING_PAUSE_MS } from './use-settled';

interface SearchBoxProps {
  readonly label: string;
  /** Instead of the label. */
  readonly placeholder?: string;
  readonly value: string;
  /** Called when typing pauses. */
  readonly onChange: (value: string) => void;
}

/** A search field of a toolbar. */
export function SearchBox({ label, placeholder = label, value, onChange }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const [sent, setSent] = useState(value);
  const [shown, setShown] = useState(value);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  // The value changes without typing when a link or Back changes the address.
  if (value !== shown) {
    setShown(value);
    if (value !== sent) setText(value);
  }
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const timer = window.setTimeout(() => {
      setSent(text.trim());
      latest.current(text.trim());
    }, TYPING_PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, value]);
  return (
    <label className="min-w-0 w-56 grow sm:max-w-80">
      <span className="sr-only">{label}</span>
      <input
        type="search"
        className="control"
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
