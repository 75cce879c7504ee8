import { Link, type LinkProps } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { usePreferences } from '../app/preferences';

type Priority = 'lowest' | 'low' | 'middle';

export interface Column<Row> {
  readonly id: string;
  readonly head: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers and amounts. */
  readonly end?: boolean;
  /** Dropped on narrow screens: `lowest` below 1536 px, `low` below 1280 px, `middle` below 768 px. */
  readonly priority?: Priority;
  /** On narrow screens, takes the room that the other columns leave. Its content shortens itself. */
  readonly shrinks?: boolean;
}

interface DataTableProps<Row> {
  /** Accessible name, for example `Requests`. */
  readonly label: string;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Where a row leads: its first cell is a link, and a click anywhere in the row follows it. */
  readonly rowLink?: (row: Row) => LinkProps;
  /** Before a row is followed; `preventDefault` stays on the page. */
  readonly onFollow?: (row: Row, event: MouseEvent) => void;
  /** Whether the details of the row are shown next to the list. */
  readonly isCurrent?: (row: Row) => boolean;
  readonly empty?: ReactNode;
}

const HIDDEN: Readonly<Record<Priority, string>> = {
  lowest: 'max-2xl:hidden',
  low: 'max-xl:hidden',
  middle: 'max-md:hidden',
};

/** A list of objects in the order of the server. Scrolls in its own region when it is too wide. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, rowLink, onFollow, isCurrent, empty } = props;
  const { dense } = usePreferences();
  if (rows.length === 0 && empty !== undefined) return empty;
  const padding = dense ? 'py-1' : 'py-2.5';
  const classOf = ({ end, priority, shrinks }: Column<Row>): string =>
    `px-1.5 first:ps-4 last:pe-3 sm:px-3 sm:first:ps-5 sm:last:pe-5 ${end ? 'text-end tabular-nums' : 'text-start'} ${priority === undefined ? '' : HIDDEN[priority]} ${shrinks ? 'max-md:w-full max-md:max-w-0' : ''}`;
  return (
    <div role="region" aria-label={label} tabIndex={0} className="relative overflow-x-auto rounded-xl">
      <table className="w-full border-collapse">
        <thead>
          <tr className="border-b">
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                className={`${classOf(column)} py-2 font-medium whitespace-nowrap text-muted`}
              >
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className={`border-b last:border-0 ${rowLink ? 'relative hover:bg-sunken' : ''} ${isCurrent?.(row) === true ? 'bg-accent-soft' : ''}`}
            >
              {columns.map((column, index) => (
                <td key={column.id} className={`${classOf(column)} ${padding} align-middle`}>
                  {index === 0 && rowLink !== undefined ? (
                    <Link
                      {...rowLink(row)}
                      data-row-link=""
                      aria-current={isCurrent?.(row) === true ? 'true' : undefined}
                      onClick={onFollow === undefined ? undefined : (event) => onFollow(row, event)}
                      className="font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
                    >
                      {column.cell(row)}
                    </Link>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
