/** Rules, alerts, board and runbooks in `docker/` against the metrics of the code and the programs that read them. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORE_SCHEMA, dump, load } from 'js-yaml';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program';
import { SETTINGS } from '../../src/core/config/settings';
import { Metrics } from '../../src/core/observability/metrics/catalogue';
import { describeWith, runProgram } from '../harness/external-program';

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const ROOT = join(__dirname, '../..');
const METRIC_NAMES = new Metrics().registry.getMetricsAsArray().map(({ name }) => name);
const RULE_FILES = ['docker/prometheus/alerts.yml', 'docker/prometheus/genai.rules.yml'];
const ALERT_TESTS = 'test/conformance/prometheus/alerts.test.yml';
const rules = RULE_FILES.flatMap((file) => read<{ groups: { rules: Rule[] }[] }>(file).groups).flatMap(
  (group) => group.rules,
);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const board = read<{ title: string; panels: Panel[] }>('docker/grafana/gateway.json');
const panels = board.panels.filter(({ type }) => type !== 'row');
const boardQueries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

describe('docker/prometheus', () => {
  it('uses only metrics that the code has, or that a rule records', () => {
    const recorded = new Set(rules.map(({ record }) => record));
    const used = rules.flatMap(({ expr }) => metricsIn(expr)).filter((name) => !recorded.has(name));
    expect(unknown(used)).toEqual([]);
  });

  it('gives every alert a severity, a summary and a runbook that exists', () => {
    for (const { alert, labels, annotations } of alerts) {
      expect([alert, labels?.severity]).toEqual([alert, expect.stringMatching(/^(page|ticket)$/)]);
      expect([alert, annotations?.summary]).toEqual([alert, expect.stringMatching(/./)]);
      expect([alert, existsSync(join(ROOT, annotations?.runbook ?? 'none'))]).toEqual([alert, true]);
    }
  });

  it('tests every alert: a case in which it fires, and one in which it or its twin is quiet', () => {
    const names = read<{ tests: { name: string }[] }>(ALERT_TESTS).tests.map(({ name }) => name);
    for (const { alert = '' } of alerts) {
      expect(names).toContainEqual(expect.stringMatching(new RegExp(`^${alert} fires`)));
      expect(names).toContainEqual(expect.stringMatching(new RegExp(`^${alert.replace(/Slow$/, '')} quiet`)));
    }
  });

  describeWith('promtool', () => {
    it('has rules that Prometheus accepts, and alerts that fire and stay quiet when they should', () => {
      const checks = [
        ['check', 'rules', ...RULE_FILES.map((file) => join(ROOT, file))],
        ['test', 'rules', join(ROOT, ALERT_TESTS)],
        ['check', 'config', '--syntax-only', join(ROOT, 'docker/prometheus/prometheus.yml')],
      ];
      expect(() => checks.forEach((args) => runProgram('promtool', args))).not.toThrow();
    });
  });
});

describe('docker/grafana/gateway.json', () => {
  it('asks only for metrics that the code has', () => {
    expect(boardQueries.length).toBeGreaterThan(0);
    expect(unknown(boardQueries.map(withoutVariables).flatMap(metricsIn))).toEqual([]);
  });

  it('shows every metric but those that no panel needs', () => {
    const shown = new Set(boardQueries.map(withoutVariables).flatMap(metricsIn).map(baseName));
    expect(METRIC_NAMES.filter((name) => !shown.has(name)).toSorted()).toEqual([
      'gateway_dashboard_requests_total',
      'gateway_draining',
      'gateway_job_duration_seconds',
      'gateway_ledger_archives_total',
      'gateway_logins_total',
      'gateway_partitions_until_timestamp_seconds',
      'gateway_purchases_total',
      'gateway_storage_calls_total',
      'gateway_traces_dropped_total',
      'gateway_traces_exported_total',
      'nodejs_external_memory_bytes',
      'nodejs_heap_size_used_bytes',
      'process_open_fds',
      'process_start_time_seconds',
    ]);
  });

  describeWith('promtool', () => {
    it('has queries that Prometheus can parse', () => {
      const directory = mkdtempSync(join(tmpdir(), 'board-'));
      const file = join(directory, 'queries.yml');
      const parsed = boardQueries.map((expr, index) => ({ record: `query:${index}`, expr: withoutVariables(expr) }));
      writeFileSync(file, dump({ groups: [{ name: 'board', rules: parsed }] }));
      expect(() => runProgram('promtool', ['check', 'rules', file])).not.toThrow();
      rmSync(directory, { recursive: true });
    });
  });
});

describe('docker/runbooks', () => {
  const pages = globSync('docker/runbooks/*.md', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const text = pages.join('\n');

  it('names only commands of the command line', () => {
    const named = [...text.matchAll(/(?:^|`)gateway ((?:[a-z]+ ?)+)/gm)].map(([, words = '']) => words.trim());
    const program = createProgram();
    expect(named).toContain('ledger verify');
    expect(named.filter((words) => !hasCommand(program, words.split(' ')))).toEqual([]);
  });

  it('names only metrics, settings and log events of the code', () => {
    const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, words = '']) => words);
    expect(unknown(quoted.filter((words) => words.startsWith('gateway_')).flatMap(metricsIn))).toEqual([
      'gateway_instance',
    ]);
    const settings = quoted.filter((words) => /^[A-Z]+(?:_[A-Z]+)+$/.test(words));
    expect(settings.filter((name) => !(name in SETTINGS.shape))).toEqual([]);
    const events = quoted.filter((words) =>
      /_(?:failed|broken|overdue|away|unavailable|refused|failure|used|ran_out)$/.test(words),
    );
    const code = globSync('src/**/*.ts', { cwd: ROOT })
      .filter((file) => !file.endsWith('.spec.ts'))
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n');
    expect(events.filter((event) => !code.includes(`'${event}'`))).toEqual([]);
  });
});

function hasCommand(parent: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  const command = parent.commands.find((candidate) => candidate.name() === name);
  return command !== undefined && hasCommand(command, rest);
}

/** As Grafana replaces them. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(model|provider)/g, '.*');
}

/** Names of series: words with an underscore that are neither labels nor functions. `up` is Prometheus's own. */
function metricsIn(expr: string): string[] {
  const withoutLabels = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\b(?:by|on)\s*\([^)]*\)/g, '');
  return [...withoutLabels.matchAll(/[a-z][a-z0-9_:]*_[a-z0-9_]+\b(?!\s*\()/g)].map(([name]) => name);
}

function unknown(names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => !METRIC_NAMES.includes(baseName(name)));
}

/** Of the histogram that a series belongs to. */
function baseName(series: string): string {
  return series.replace(/_(?:bucket|sum|count)$/, '');
}

function read<Document>(file: string): Document {
  return load(readFileSync(join(ROOT, file), 'utf8'), { schema: CORE_SCHEMA }) as Document;
}
