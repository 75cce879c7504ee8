import { useEffect, useRef, type ReactNode } from 'react';
import { giveHeadingFocus } from '../app/heading-focus';

interface PageHeaderProps {
  readonly title: ReactNode;
  /** One sentence, or facts about the object of the page. */
  readonly description?: ReactNode;
  /** Buttons at the end of the line. */
  readonly actions?: ReactNode;
}

/** The only `h1` of a page; takes the focus after a navigation. */
export function PageHeader({ title, description, actions }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => giveHeadingFocus(heading.current), []);
  return (
    <header className="mb-5 flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 ref={heading} tabIndex={-1} className="text-2xl font-semibold tracking-tight wrap-anywhere">
          {title}
        </h1>
        {description !== undefined && <div className="mt-1 max-w-prose text-muted">{description}</div>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}
