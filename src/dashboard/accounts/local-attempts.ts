import type { AttemptLog } from './attempt-logs';

/** Memory limit. Only an attack creates more logs, and new ones are refused then. */
const MAX_LOGS = 20_000;
/** A sweep of all logs takes milliseconds. */
const SWEEP_EVERY_MS = 1_000;

interface Entry {
  readonly id: string;
  readonly atMs: number;
  /** When the attempt leaves the window. */
  readonly untilMs: number;
}

/** In-process equivalent of `ATTEMPT_SCRIPT`, used while Redis is down. */
export class LocalAttempts {
  private readonly logs = new Map<string, Entry[]>();
  private sweptAtMs = -Infinity;

  /** @returns 0, or the milliseconds after which the attempt can be made. */
  take(logs: readonly AttemptLog[], id: string, nowMs: number): number {
    const waits = logs.map((log) => this.waitMs(log, nowMs));
    const waitMs = Math.max(...waits);
    if (waitMs > 0) return waitMs;
    for (const { key, windowMs } of logs) {
      const entry = { id, atMs: nowMs, untilMs: nowMs + windowMs };
      this.logs.set(key, [...(this.logs.get(key) ?? []), entry]);
    }
    return 0;
  }

  /** Removes the attempts for which `forgotten` returns true. */
  forget(key: string, forgotten: (entry: Entry) => boolean): void {
    const left = (this.logs.get(key) ?? []).filter((entry) => !forgotten(entry));
    if (left.length === 0) this.logs.delete(key);
    else this.logs.set(key, left);
  }

  private waitMs({ key, limit }: AttemptLog, nowMs: number): number {
    this.forgetOld(key, nowMs);
    const entries = this.logs.get(key);
    if (entries === undefined) return this.logs.size < MAX_LOGS ? 0 : this.makeRoom(nowMs);
    const blocking = entries[entries.length - limit];
    return blocking === undefined ? 0 : blocking.untilMs - nowMs;
  }

  /** Fails closed: if a full table evicted logs, an attacker could fill it and guess without limit. */
  private makeRoom(nowMs: number): number {
    if (nowMs - this.sweptAtMs < SWEEP_EVERY_MS) return SWEEP_EVERY_MS;
    this.sweptAtMs = nowMs;
    for (const key of this.logs.keys()) this.forgetOld(key, nowMs);
    return this.logs.size < MAX_LOGS ? 0 : SWEEP_EVERY_MS;
  }

  private forgetOld(key: string, nowMs: number): void {
    this.forget(key, ({ untilMs }) => untilMs <= nowMs);
  }
}
