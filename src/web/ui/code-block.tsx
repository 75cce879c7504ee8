import { CopyButton } from './copy-button';

interface CodeBlockProps {
  readonly code: string;
  /** Accessible name, for example `curl command`. */
  readonly label: string;
}

/** Code to copy. The block scrolls by itself and can be reached by keyboard. */
export function CodeBlock({ code, label }: CodeBlockProps) {
  return (
    <div className="relative rounded-lg border bg-sunken">
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-x-auto p-3 pe-12 font-mono text-[0.8125rem] leading-relaxed"
      >
        {code}
      </pre>
      {/* Long lines scroll below the button, which hides them. */}
      <div className="absolute end-1.5 top-1.5 rounded-md bg-sunken">
        <CopyButton text={code} object={label} />
      </div>
    </div>
  );
}
