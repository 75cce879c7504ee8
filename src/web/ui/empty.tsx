import type { ReactNode } from 'react';

interface EmptyProps {
  readonly title: string;
  /** The purpose of the page, and one thing to do. */
  readonly children?: ReactNode;
}

/** In place of a list without entries. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-12 text-center">
      <p className="text-base font-semibold">{title}</p>
      {children !== undefined && <div className="w-full max-w-prose text-muted">{children}</div>}
    </div>
  );
}
