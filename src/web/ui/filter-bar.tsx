import type { ReactNode } from 'react';
import { Button } from './button';

interface FilterBarProps {
  readonly children: ReactNode;
  /** Shown while a filter is set. */
  readonly onClear?: () => void;
  /** At the end of the line, for example a download. */
  readonly actions?: ReactNode;
}

/** The filters of a list, above it. */
export function FilterBar({ children, onClear, actions }: FilterBarProps) {
  return (
    <search className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-3 sm:px-5">
      {children}
      {onClear !== undefined && (
        <Button variant="quiet" small onClick={onClear}>
          Clear filters
        </Button>
      )}
      {actions !== undefined && <div className="ms-auto flex gap-2">{actions}</div>}
    </search>
  );
}
