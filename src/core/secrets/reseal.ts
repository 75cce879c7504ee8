import { type SecretBox, SecretBoxError } from './secret-box';

/** A stored sealed secret. */
export interface SealedRow {
  readonly id: string;
  readonly sealed: string;
}

/** A table of sealed secrets. */
export interface SealedTable {
  /** The purpose that a row was sealed for. */
  purposeOf(id: string): string;
  /** The next rows by ascending id, after `afterId`; from the beginning when that is empty. */
  next(afterId: string, limit: number): Promise<readonly SealedRow[]>;
  /** Replaces `sealed` by `resealed` if it is unchanged: a secret set in the meantime wins. */
  replace(row: SealedRow, resealed: string): Promise<void>;
}

export interface ResealSummary {
  /** Resealed rows. */
  readonly resealed: number;
  /** Rows already sealed with the first key. */
  readonly current: number;
  /** Ids of rows whose key is not in `SECRETS_KEY`; they are not changed. */
  readonly unreadable: readonly string[];
}

const BATCH = 100;

/** Reseals every row with the first key. Safe to repeat, to interrupt, and to run while the secrets are in use. */
export async function resealTable(table: SealedTable, box: SecretBox): Promise<ResealSummary> {
  const unreadable: string[] = [];
  let resealed = 0;
  let current = 0;
  for (let rows = await table.next('', BATCH); rows.length > 0; rows = await table.next(lastId(rows), BATCH)) {
    for (const row of rows) {
      if (box.isCurrent(row.sealed)) {
        current++;
        continue;
      }
      const secret = open(box, row, table.purposeOf(row.id));
      if (secret === null) {
        unreadable.push(row.id);
        continue;
      }
      await table.replace(row, box.seal(secret, table.purposeOf(row.id)));
      resealed++;
    }
  }
  return { resealed, current, unreadable };
}

/** Whether the first row can be opened; also true for an empty table. */
export async function canOpenFirst(table: SealedTable, box: SecretBox): Promise<boolean> {
  const [row] = await table.next('', 1);
  return row === undefined || open(box, row, table.purposeOf(row.id)) !== null;
}

function open(box: SecretBox, { sealed }: SealedRow, purpose: string): string | null {
  try {
    return box.unseal(sealed, purpose);
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}

function lastId(rows: readonly SealedRow[]): string {
  return rows.at(-1)?.id ?? '';
}
