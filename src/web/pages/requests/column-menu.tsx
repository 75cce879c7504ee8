import { Columns3 } from '../../ui/icons';
import { Menu, MenuCheckbox, MenuItem, MenuSeparator } from '../../ui/menu';
import { COLUMN_WORDS, REQUEST_COLUMNS, useRequestColumns } from './request-columns';

/** Chooses the columns of the list; remembered for the user in this browser. */
export function ColumnMenu() {
  const { shown, show, reset } = useRequestColumns();
  return (
    <Menu
      label="Columns"
      triggerClassName="border border-edge bg-surface px-3 font-medium"
      trigger={
        <>
          <Columns3 size={16} aria-hidden="true" /> Columns
        </>
      }
    >
      {REQUEST_COLUMNS.map((column) => (
        <MenuCheckbox
          key={column}
          label={COLUMN_WORDS[column]}
          checked={shown.includes(column)}
          onChange={(isShown) => show(column, isShown)}
        />
      ))}
      <MenuSeparator />
      <MenuItem onClick={reset}>Default columns</MenuItem>
    </Menu>
  );
}
