/** The words and the width of code, tests and documents. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const WORDS =
  /\b(?:told|heard|somebody|nobody|whoever|everybody|for ever|dearest|doors?|chances?|towns?|troubles?|let go|be let)\b/i;
/** Lists of passwords, prices and generated packages, the account `nobody` of Unix, and this list. */
const EXCLUDED =
  /common-passwords\.ts$|^src\/models\/catalog\/|package-lock\.json$|postgres-account\.ts$|conformance\/wording\.spec\.ts$/;
const COMMENT = /^ *(?:\/\/|\/?\*)/;

it('plain words: code, tests and documents use none of the avoided ones', () => {
  const files = trackedFiles(/\.(?:tsx?|js|mjs|cjs|sql|ya?ml|md|sh|html|css|tpl|example)$|Dockerfile$/).filter(
    (file) => !EXCLUDED.test(file),
  );
  expect(files.length).toBeGreaterThan(1_000);

  const found = files.flatMap((file) =>
    linesOf(file).flatMap((line, index) => (WORDS.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

it('comments fit the line width that the formatter keeps for code', () => {
  const { printWidth } = JSON.parse(readFileSync(resolve(ROOT, '.prettierrc.json'), 'utf8')) as { printWidth: number };
  const files = trackedFiles(/\.(?:tsx?|js|mjs|cjs)$/).filter((file) => !file.endsWith('.d.ts'));
  const wide = files.flatMap((file) =>
    linesOf(file).flatMap((line, index) =>
      line.length > printWidth && COMMENT.test(line) && !line.includes('oxlint-disable')
        ? [`${file}:${index + 1}`]
        : [],
    ),
  );
  expect(wide).toEqual([]);
});

function trackedFiles(name: RegExp): string[] {
  const list = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
  return list.split('\0').filter((file) => name.test(file));
}

/** Deleted files that are not committed yet have no lines. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(resolve(ROOT, file), 'utf8').split('\n');
  } catch {
    return [];
  }
}
