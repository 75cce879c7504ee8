import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { MIGRATIONS } from './migrations';
import { checksumOf, readRoutines } from './migration-files';

describe('the list of migrations', () => {
  const names = MIGRATIONS.map((migration) => migration.name);

  it('is ordered by unique timestamps', () => {
    const timestamps = names.map((name) => Number(name.slice(-13)));
    expect(timestamps).toEqual([...new Set(timestamps)].toSorted((left, right) => left - right));
  });

  it('has one class per file of the folder, with the same name', () => {
    const files = readdirSync(resolve(__dirname, '../../../migrations')).filter((file) => file.endsWith('.ts'));
    expect(names.toSorted()).toEqual(files.map(classNameOf).toSorted());
  });

  it('has a new migration for every change of a function or view, so that existing databases receive it', () => {
    const Newest = MIGRATIONS.at(-1);
    expect(Newest && new Newest().routines).toBe(checksumOf(readRoutines()));
  });
});

/** `1795200000000-create-orders.ts` holds `CreateOrders1795200000000`. */
function classNameOf(file: string): string {
  const [timestamp, ...words] = file.replace(/\.ts$/, '').split('-');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('') + timestamp;
}
