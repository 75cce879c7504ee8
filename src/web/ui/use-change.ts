import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useRef, useState, type RefObject } from 'react';
import { isApiError } from '../api/errors';
import { useNotice } from '../app/notices';
import { useSessionState } from '../app/session-state';

interface ChangeOptions<Input, Output> {
  readonly change: (input: Input) => Promise<Output>;
  /** Keys of the queries that show what changed. */
  readonly invalidates?: readonly QueryKey[];
  readonly onDone?: (output: Output, input: Input) => void;
}

export interface Change<Input, Output> {
  readonly run: (input: Input) => void;
  readonly pending: boolean;
  readonly error: Error | null;
  readonly result: Output | undefined;
  readonly reset: () => void;
}

/**
 * A call that changes something. A second click during the call is ignored; `onDone` runs after the reply, and the
 * queries named in `invalidates` load again, also after a `conflict` or `not_found`, when the page shows what is no
 * longer so. A failure after the form was closed appears as a notice. After a sign-in, the error that the session had
 * ended is gone. Never repeated automatically.
 */
export function useChange<Input, Output>(options: ChangeOptions<Input, Output>): Change<Input, Output> {
  const queries = useQueryClient();
  const notice = useNotice();
  const isOpen = useIsOpen();
  const refresh = (): Promise<unknown> =>
    Promise.all((options.invalidates ?? []).map((queryKey) => queries.invalidateQueries({ queryKey })));
  const running = useRef(false);
  // Unlike `isPending`, true before the next event: an Escape right after the click must find a form that waits.
  const [started, setStarted] = useState(false);
  const mutation = useMutation<Output, Error, Input>({
    mutationFn: options.change,
    // What was typed or replied may be secret, and ends with the component.
    gcTime: 0,
    onSuccess: async (output, input) => {
      options.onDone?.(output, input);
      await refresh();
    },
    onError: (error) => {
      if (!isOpen.current) notice(`A change failed: ${error.message}`);
      if (isApiError(error, 'conflict') || isApiError(error, 'not_found')) void refresh();
    },
    onSettled: () => {
      running.current = false;
      setStarted(false);
    },
  });
  const { error, reset } = mutation;
  const session = useSessionState();
  useEffect(() => {
    if (session === 'signed-in' && isApiError(error, 'unauthenticated')) reset();
  }, [session, error, reset]);
  return {
    run: (input) => {
      if (running.current) return;
      running.current = true;
      setStarted(true);
      mutation.mutate(input);
    },
    pending: started || mutation.isPending,
    error,
    result: mutation.data,
    reset,
  };
}

/** Whether the component is still there, for what happens after it has gone. */
function useIsOpen(): RefObject<boolean> {
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  return isOpen;
}
