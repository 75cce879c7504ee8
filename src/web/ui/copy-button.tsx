import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from './button';

const SHOWN_FOR_MS = 2000;

interface CopyButtonProps {
  readonly text: string;
  /** The object that is copied, for example `request id`. */
  readonly object: string;
  readonly showLabel?: boolean;
  readonly onCopied?: () => void;
}

export function CopyButton({ text, object, showLabel = false, onCopied }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = window.setTimeout(() => setCopied(false), SHOWN_FOR_MS);
    return () => window.clearTimeout(timer);
  }, [copied]);
  const label = copied ? 'Copied' : `Copy ${object}`;
  return (
    <Button
      variant={showLabel ? 'secondary' : 'quiet'}
      small
      title={showLabel ? undefined : label}
      onClick={() =>
        void navigator.clipboard.writeText(text).then(() => {
          setCopied(true);
          onCopied?.();
        })
      }
    >
      {copied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      <span className={showLabel ? '' : 'sr-only'} aria-live="polite">
        {label}
      </span>
    </Button>
  );
}
