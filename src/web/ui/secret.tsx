import { useState } from 'react';
import { useStay } from '../app/use-stay';
import { Banner } from './banner';
import { CopyButton } from './copy-button';

interface SecretProps {
  readonly value: string;
  /** For example `API key`. */
  readonly object: string;
}

/**
 * A secret that the API shows once. It lives in the state of its dialog only and is gone when that closes. Keeps the
 * page, and the browser asks before a reload until the secret is copied.
 */
export function Secret({ value, object }: SecretProps) {
  const [copied, setCopied] = useState(false);
  useStay(true, !copied);
  return (
    <div>
      <Banner tone="warn">Copy it now: it is shown only once.</Banner>
      <div className="flex items-center gap-2 rounded-lg border bg-sunken p-2">
        <code
          className="min-w-0 grow font-mono text-[0.8125rem] break-all"
          data-secret=""
          onCopy={() => setCopied(true)}
        >
          {value}
        </code>
        <CopyButton text={value} object={object} showLabel onCopied={() => setCopied(true)} />
      </div>
    </div>
  );
}
