import { createLink } from '@tanstack/react-router';
import { useEffect, useRef, type AnchorHTMLAttributes, type ReactNode } from 'react';

/** Links between views of one page, each with its own address. */
export function TabList({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <nav aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b">
      {children}
    </nav>
  );
}

function TabAnchor({ children, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement>) {
  const ref = useRef<HTMLAnchorElement>(null);
  const isCurrent = rest['aria-current'] === 'page';
  useEffect(() => {
    // On narrow screens the tab of the opened view may be beyond the edge.
    if (isCurrent) ref.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isCurrent]);
  return (
    <a
      {...rest}
      ref={ref}
      className="-mb-px border-b-2 border-transparent px-2.5 py-2 sm:px-3 font-medium whitespace-nowrap text-muted hover:text-ink focus-visible:-outline-offset-2 aria-[current=page]:border-accent aria-[current=page]:text-ink"
    >
      {children}
    </a>
  );
}

/** The router marks the link of the current view with `aria-current`. */
export const TabLink = createLink(TabAnchor);
