/** `npm run scorecard`: how a gateway behaves while its providers fail. See README.md here. */
import { writeFileSync } from 'node:fs';
import { sound } from './behaviours';
import { GatewayUnderTest } from './gateway-under-test';
import { readOptions, type ScorecardOptions, USAGE } from './options';
import { type KnownSettings, type Row, rowsOf } from './rows';
import { type RowResult, runRow, type Setting } from './run-row';
import { ScriptedProvider } from './scripted-provider';
import { formatTable } from './table';

/** Of this gateway: the short form does not wait out the defaults. */
const SHORT: KnownSettings = { upstreamTimeoutMs: 1_000, breakerOpenMs: 700 };
const LONG: KnownSettings = { upstreamTimeoutMs: 3_000, breakerOpenMs: 30_000 };
/** Of another gateway: its recovery has one limit for all rows. */
const UNKNOWN: KnownSettings = { upstreamTimeoutMs: 0, breakerOpenMs: 0 };
const LANES = { short: 4, long: 25 };
const SLACK_MS = { short: 8_000, long: 2_000 };

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function run(options: ScorecardOptions): Promise<boolean> {
  const { ports, isShort, target } = options;
  const first = await ScriptedProvider.start('first', ports.first);
  const second = await ScriptedProvider.start('second', ports.second);
  const known = knownSettings(options);
  let gateway: GatewayUnderTest | null = null;
  try {
    await Promise.all([first.become(sound), second.become(sound)]);
    if (target === null)
      gateway = await GatewayUnderTest.start({ first: first.baseUrl, second: second.baseUrl }, known);
    const form = isShort ? 'short' : 'long';
    const setting: Setting = {
      target: target ?? (gateway as GatewayUnderTest).target,
      first,
      second,
      gateway,
      lanes: LANES[form],
      slackMs: SLACK_MS[form],
    };
    const isApplicable = ({ needsTimeLimits }: Row): boolean =>
      !needsTimeLimits || target === null || options.upstreamTimeoutMs !== null;
    const rows = rowsOf(known);
    const results: RowResult[] = [];
    for (const row of rows.filter(isApplicable)) results.push(await runRow(row, setting));
    const leftOut = rows.filter((row) => !isApplicable(row)).map(({ name }) => name);
    const hasCleanBooks = (await gateway?.hasCleanBooks()) ?? null;
    report(results, leftOut, hasCleanBooks);
    if (options.jsonFile !== null) writeResult(options.jsonFile, { results, leftOut, hasCleanBooks, settings: known });
    return results.every(({ problems }) => problems.length === 0) && hasCleanBooks !== false;
  } finally {
    await gateway?.stop();
    await Promise.all([first.stop(), second.stop()]);
  }
}

function knownSettings({ target, isShort, upstreamTimeoutMs }: ScorecardOptions): KnownSettings {
  if (target !== null) return { ...UNKNOWN, upstreamTimeoutMs: upstreamTimeoutMs ?? 0 };
  return isShort ? SHORT : LONG;
}

function report(results: readonly RowResult[], leftOut: readonly string[], hasCleanBooks: boolean | null): void {
  print(formatTable(results));
  for (const name of leftOut) print(`not applicable: ${name} (the time limits of this gateway are not known)`);
  print(
    hasCleanBooks === null ? 'not applicable: charges and ledger' : `ledger: ${hasCleanBooks ? 'clean' : 'BROKEN'}`,
  );
  const passed = results.filter(({ problems }) => problems.length === 0).length;
  print(`${passed} of ${results.length} rows passed`);
}

function writeResult(file: string, result: object): void {
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
}

function optionsOrExit(): ScorecardOptions {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

if (process.argv.includes('--help')) {
  print(USAGE);
} else {
  run(optionsOrExit()).then(
    (passed) => (process.exitCode = passed ? 0 : 1),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
