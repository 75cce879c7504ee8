import type { Command } from 'commander';

/** The result of a command, as text and as JSON. */
export interface CommandResult {
  readonly text: string;
  /** The document that `--json` prints. */
  readonly json: unknown;
  /** The command ran, but found a problem: exit code 1. */
  readonly failed?: boolean;
}

/** A commander action that gives `work` its arguments and options, and prints only the result to standard output. */
export function run<Input extends unknown[]>(
  work: (...input: Input) => Promise<CommandResult>,
): (...input: [...Input, Command]) => Promise<void> {
  return async (...input) => {
    const command = input.at(-1) as Command;
    const result = await work(...(input.slice(0, -1) as Input));
    const asJson = command.optsWithGlobals<{ json?: boolean }>().json === true;
    process.stdout.write(`${asJson ? JSON.stringify(result.json) : result.text}\n`);
    if (result.failed === true) process.exitCode = 1;
  };
}

/** Columns aligned with spaces; `emptyText` when there are no rows. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  emptyText: string,
): string {
  if (rows.length === 0) return emptyText;
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One `name: value` per line, values aligned. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${`${name}:`.padEnd(width + 1)} ${value}`).join('\n');
}

/** An amount in micro-units and in USD. */
export function formatMicro(amount: bigint): string {
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const fraction = (absolute % 1_000_000n).toString().padStart(6, '0');
  return `${amount} (${sign}${absolute / 1_000_000n}.${fraction} USD)`;
}
