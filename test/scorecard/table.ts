import type { RowResult } from './run-row';

const HEADINGS = ['failure', 'clients saw', 'answers', 'served by', 'longest', 'charged', 'recovery', 'verdict'];

/** One line per row, and below a failed one its deviations. */
export function formatTable(results: readonly RowResult[]): string {
  const lines = results.map((result) => cellsOf(result));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const format = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    format(HEADINGS),
    format(widths.map((width) => '-'.repeat(width))),
    ...results.flatMap(({ problems }, index) => [
      format(lines[index] ?? []),
      ...problems.map((problem) => `    ${problem}`),
    ]),
  ].join('\n');
}

function cellsOf({
  name,
  answers,
  complete,
  servedBy,
  longestMs,
  chargedMicro,
  recoveryMs,
  problems,
}: RowResult): string[] {
  return [
    name,
    answers,
    complete,
    servedBy,
    `${longestMs} ms`,
    chargedMicro === null ? '-' : String(chargedMicro),
    recoveryMs === null ? 'none' : `${recoveryMs} ms`,
    problems.length === 0 ? 'pass' : 'FAIL',
  ];
}
