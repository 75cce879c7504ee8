import { useId, type ReactNode } from 'react';

interface CardProps {
  readonly title?: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** The content touches the edges, for example a table. */
  readonly flush?: boolean;
  readonly className?: string;
}

/** A section of a page with an optional heading. */
export function Card({ title, description, actions, children, flush = false, className = '' }: CardProps) {
  const id = useId();
  return (
    <section
      // A table inside is a region of its own with the same name.
      aria-labelledby={title === undefined || flush ? undefined : id}
      className={`min-w-0 rounded-xl border bg-surface ${className}`}
    >
      {title !== undefined && (
        <div className="flex flex-wrap items-center justify-between gap-2 px-4 pt-3.5 pb-2 sm:px-5">
          <div className="min-w-0 wrap-anywhere">
            <h2 id={id} className="font-semibold">
              {title}
            </h2>
            {description !== undefined && <p className="text-muted">{description}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush ? '' : `px-4 pb-4 sm:px-5 ${title === undefined ? 'pt-4' : 'pt-1'}`}>{children}</div>
    </section>
  );
}

interface TileProps {
  readonly label: string;
  readonly children: ReactNode;
  readonly note?: ReactNode;
}

/** One figure with its label. */
export function Tile({ label, children, note }: TileProps) {
  return (
    <div className="min-w-0 rounded-xl border bg-surface px-4 py-3.5 sm:px-5">
      <p className="text-muted">{label}</p>
      <p className="mt-1 text-xl font-semibold tracking-tight wrap-anywhere sm:text-2xl">{children}</p>
      {note !== undefined && <div className="mt-1 wrap-anywhere text-muted">{note}</div>}
    </div>
  );
}

interface FactsProps {
  /** Pairs of label and value; pairs whose value is null are left out. */
  readonly facts: ReadonlyArray<readonly [label: string, value: ReactNode]>;
}

/** Labels and values of an object. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl className="grid gap-x-6 gap-y-2 min-[22rem]:grid-cols-[minmax(7rem,auto)_1fr]">
      {facts
        .filter(([, value]) => value !== null)
        .map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="min-w-0 wrap-anywhere max-[22rem]:-mt-2 max-[22rem]:mb-1">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
