import type { Metrics } from './metrics/catalogue';

/** Lines of one event in one second. */
const MAX_LINES_PER_SECOND = 100;
const SECOND_MS = 1_000;
/** How often the number of suppressed lines is logged. */
const REPORT_EVERY_MS = 10_000;

interface EventCount {
  secondBeganMs: number;
  lines: number;
  /** Since the last report. */
  suppressed: number;
  /** Writes at the level of the line that was suppressed last. */
  report: ReportSuppressed;
}

/** Logs that `suppressed` lines of an event were not written. */
export type ReportSuppressed = (event: string, suppressed: number) => void;

/**
 * Keeps an outage from filling the log: at most 100 lines of one event are written in a second, and every ten seconds
 * one line says how many were not.
 */
export class StormGuard {
  /** Events have stable names, so there are few. */
  private readonly events = new Map<string, EventCount>();
  private timer: NodeJS.Timeout | null = null;
  private listener: (event: string) => void = () => undefined;

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  /** Calls `listener` for each line that is not written. */
  onSuppressed(listener: (event: string) => void): void {
    this.listener = listener;
  }

  /** Whether a line of this event may be written. @param report logs the suppressed number, once in ten seconds */
  admit(event: string, report: ReportSuppressed): boolean {
    const nowMs = this.monotonic();
    let count = this.events.get(event);
    if (count === undefined)
      this.events.set(event, (count = { secondBeganMs: nowMs, lines: 0, suppressed: 0, report }));
    if (nowMs - count.secondBeganMs >= SECOND_MS) {
      count.secondBeganMs = nowMs;
      count.lines = 0;
    }
    if (++count.lines <= MAX_LINES_PER_SECOND) return true;
    count.suppressed++;
    count.report = report;
    this.listener(event);
    this.timer ??= setTimeout(() => this.flush(), REPORT_EVERY_MS).unref();
    return false;
  }

  /** Reports the lines suppressed since the last report. Call it before the process ends. */
  flush(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    for (const [event, count] of this.events) {
      if (count.suppressed > 0) count.report(event, count.suppressed);
      count.suppressed = 0;
    }
  }
}

/** Counts the lines that are not written. The log exists before the metrics do. */
export function countSuppressedLines(storms: StormGuard, { logLinesSuppressed }: Metrics): void {
  storms.onSuppressed((event) => logLinesSuppressed.of(event).inc());
}
