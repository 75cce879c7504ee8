import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/*
 * What a migration may not do while requests run (migrations/README.md). The statements are checked as text, because
 * migrations build none at run time.
 */

const FOLDER = resolve(__dirname, '../../../migrations');

interface Rule {
  readonly breach: string;
  /** Captures the table. A migration may change a table that it creates in any way. */
  readonly pattern: RegExp;
}

const RULES: readonly Rule[] = [
  {
    breach: 'an index without CONCURRENTLY',
    pattern:
      /CREATE\s+(?:UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY)(?:IF\s+NOT\s+EXISTS\s+)?\w+\s+ON\s+(?:ONLY\s+)?(?<table>\w+)/gi,
  },
  { breach: 'a changed column type', pattern: alter(String.raw`ALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE`) },
  { breach: 'SET NOT NULL', pattern: alter(String.raw`ALTER\s+(?:COLUMN\s+)?\w+\s+SET\s+NOT\s+NULL`) },
  { breach: 'a dropped column', pattern: alter(String.raw`DROP\s+(?:COLUMN\s+)(?:IF\s+EXISTS\s+)?\w+`) },
  { breach: 'a dropped table', pattern: /DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?<table>\w+)/gi },
  {
    breach: 'a constraint without NOT VALID',
    pattern: alter(String.raw`ADD\s+(?:CONSTRAINT\s+\w+\s+)?(?:CHECK|FOREIGN\s+KEY)(?![^;]*NOT\s+VALID)`),
  },
];

const BY_HAND = 'an operator with large tables creates it before, with CONCURRENTLY';
const IN_PLACE = 'it replaces one, and the table is locked for its new primary key in any case';

/** By migration: a breach such as `a dropped table: purchase`, and why it does no harm. */
const EXEMPT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1797800000000-organization-first.ts': {
    'an index without CONCURRENTLY: idempotency_record': BY_HAND,
    'an index without CONCURRENTLY: idempotency_body': BY_HAND,
    'an index without CONCURRENTLY: media_job': BY_HAND,
    'an index without CONCURRENTLY: webhook_delivery': BY_HAND,
    'SET NOT NULL: spend_window': 'only money functions insert, with the organization',
    'SET NOT NULL: idempotency_seal': 'only a trigger inserts, with the organization',
    'SET NOT NULL: media_artifact': 'only media_job_finish inserts, with the organization',
    'SET NOT NULL: webhook_attempt': 'a trigger added the organization to what the release before inserted',
    'a constraint without NOT VALID: media_artifact': IN_PLACE,
    'a constraint without NOT VALID: webhook_attempt': IN_PLACE,
  },
};

function alter(action: string): RegExp {
  return new RegExp(String.raw`ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?(?<table>\w+)[^;\`]*?\b${action}`, 'gi');
}

/** The rules that the text of a migration breaks, each with its table. */
function breachesOf(text: string): string[] {
  const statements = text.replaceAll(/^\s*(?:\/\/|--).*$/gm, '').replaceAll(/\/\*[\s\S]*?\*\//g, '');
  const created = new Set(
    Array.from(statements.matchAll(/CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/gi), ([, table]) =>
      table?.toLowerCase(),
    ),
  );
  return RULES.flatMap(({ breach, pattern }) =>
    Array.from(statements.matchAll(pattern), ({ groups }) => groups?.table?.toLowerCase())
      .filter((table) => !created.has(table))
      .map((table) => `${breach}: ${table}`),
  );
}

describe('a migration that runs while requests are served', () => {
  it('locks no table for long, and keeps the tables and columns that the previous release reads', () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.ts'));
    const unexplained = files.flatMap((file) =>
      breachesOf(readFileSync(resolve(FOLDER, file), 'utf8'))
        .filter((breach) => EXEMPT[file]?.[breach] === undefined)
        .map((breach) => `${file}: ${breach}`),
    );
    expect(unexplained).toEqual([]);
  });

  it.each([
    ['CREATE INDEX a_index ON a (b)', ['an index without CONCURRENTLY: a']],
    ['CREATE INDEX CONCURRENTLY a_index ON a (b)', []],
    ['CREATE TABLE a (b int); CREATE UNIQUE INDEX a_index ON a (b)', []],
    ['ALTER TABLE a ADD COLUMN b bigint, ALTER COLUMN c TYPE bigint', ['a changed column type: a']],
    ['ALTER TABLE a ALTER b SET NOT NULL', ['SET NOT NULL: a']],
    ['ALTER TABLE a DROP COLUMN b', ['a dropped column: a']],
    ['DROP TABLE IF EXISTS a', ['a dropped table: a']],
    ['ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0)', ['a constraint without NOT VALID: a']],
    ['ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0) NOT VALID', []],
    ['ALTER TABLE a VALIDATE CONSTRAINT c', []],
    ['ALTER TABLE a ADD COLUMN b bigint', []],
  ])('is judged by its text: %s', (text, breaches) => {
    expect(breachesOf(text)).toEqual(breaches);
  });
});
