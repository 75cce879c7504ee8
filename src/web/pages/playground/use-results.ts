import { useEffect, useRef, useState } from 'react';
import { useSpending } from './playground-context';

interface Costing {
  readonly costMicro: number;
  /** `blob:` URLs of its files. */
  readonly urls: readonly string[];
}

export interface Results<Result> {
  /** Newest first. */
  readonly results: readonly Result[];
  readonly pending: boolean;
  readonly error: Error | null;
  /** Runs one request at a time; a click while it runs is ignored. */
  readonly run: (request: (signal: AbortSignal) => Promise<Result>) => void;
}

/** The answers of a tab while it is open. Their files exist in memory only. */
export function useResults<Result extends Costing>(): Results<Result> {
  const { addSpent } = useSpending();
  const [results, setResults] = useState<readonly Result[]>([]);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const controller = useRef<AbortController | null>(null);
  const created = useRef<string[]>([]);
  useEffect(
    () => () => {
      controller.current?.abort();
      for (const url of created.current) URL.revokeObjectURL(url);
    },
    [],
  );
  return {
    results,
    pending,
    error,
    run: (request) => {
      if (controller.current !== null) return;
      const abort = new AbortController();
      controller.current = abort;
      setPending(true);
      setError(null);
      request(abort.signal)
        .then((result) => {
          addSpent(result.costMicro);
          created.current.push(...result.urls);
          setResults((before) => [result, ...before]);
        })
        .catch((reason: unknown) => {
          if (!abort.signal.aborted) setError(reason instanceof Error ? reason : new Error(String(reason)));
        })
        .finally(() => {
          controller.current = null;
          setPending(false);
        });
    },
  };
}
