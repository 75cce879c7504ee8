import { whenSignedIn } from '../../api/sign-in';

/** What every answer with files has. */
export interface TabResult {
  readonly costMicro: number;
  readonly requestId: string;
  /** `blob:` URLs of its files, which exist in memory only. */
  readonly urls: readonly string[];
  /** Size of its files. */
  readonly bytes: number;
}

export interface TabResults<Result extends TabResult = TabResult> {
  /** Newest first. */
  readonly results: readonly Result[];
  readonly pending: boolean;
  readonly error: Error | null;
}

interface Limits {
  readonly mostBytes: number;
  readonly mostResults: number;
}

const NOTHING: TabResults = { results: [], pending: false, error: null };

/**
 * The answers of the playground's tabs until the page is loaded again: a tab that is left and opened again has what was
 * paid for. Beyond the limits of all tabs together the oldest answers go, and their memory with them.
 */
export class ResultStore {
  private readonly tabs = new Map<string, TabResults>();
  private readonly running = new Map<string, AbortController>();
  /** Of all tabs, oldest first. */
  private kept: ReadonlyArray<{ readonly tab: string; readonly result: TabResult }> = [];
  private readonly listeners = new Set<() => void>();

  constructor(private readonly limits: Limits) {}

  get(tab: string): TabResults {
    return this.tabs.get(tab) ?? NOTHING;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Runs one request of a tab at a time, and ignores another one; it goes on when the tab is left. */
  async runRequest(tab: string, request: (signal: AbortSignal) => Promise<TabResult>): Promise<void> {
    if (this.running.has(tab)) return;
    const controller = new AbortController();
    this.running.set(tab, controller);
    this.set(tab, { pending: true, error: null });
    try {
      const result = await request(controller.signal);
      if (controller.signal.aborted) revoke(result);
      else this.add(tab, result);
    } catch (reason) {
      const error = reason instanceof Error ? reason : new Error(String(reason));
      if (!controller.signal.aborted) this.set(tab, { error });
    } finally {
      // After `clear` the tab may have another request.
      if (this.running.get(tab) === controller) {
        this.running.delete(tab);
        this.set(tab, { pending: false });
      }
    }
  }

  /** Forgets everything, for example when another user signs in. */
  clear(): void {
    for (const controller of this.running.values()) controller.abort();
    for (const { result } of this.kept) revoke(result);
    this.running.clear();
    this.kept = [];
    this.tabs.clear();
    this.notify();
  }

  private add(tab: string, result: TabResult): void {
    this.kept = [...this.kept, { tab, result }];
    this.set(tab, { results: [result, ...this.get(tab).results] });
    while (this.kept.length > 1 && this.isOverLimit()) this.dropOldest();
  }

  private isOverLimit(): boolean {
    const bytes = this.kept.reduce((sum, { result }) => sum + result.bytes, 0);
    return this.kept.length > this.limits.mostResults || bytes > this.limits.mostBytes;
  }

  private dropOldest(): void {
    const [oldest, ...rest] = this.kept;
    if (oldest === undefined) return;
    this.kept = rest;
    this.set(oldest.tab, { results: this.get(oldest.tab).results.filter((result) => result !== oldest.result) });
    revoke(oldest.result);
  }

  private set(tab: string, changes: Partial<TabResults>): void {
    this.tabs.set(tab, { ...this.get(tab), ...changes });
    this.notify();
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

function revoke({ urls }: TabResult): void {
  for (const url of urls) URL.revokeObjectURL(url);
}

export const results = new ResultStore({ mostBytes: 64 * 2 ** 20, mostResults: 50 });

whenSignedIn(() => results.clear());
