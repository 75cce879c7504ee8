import { useSyncExternalStore } from 'react';
import { fallbackCallsOf } from '../../api/requests';
import { useCurrentUser, useOrganization } from '../../app/use-session';
import { useSpending } from './playground-context';
import { results as store, type TabResult, type TabResults } from './result-store';

/** An answer with what its receipt says. */
export type Settled<Result> = Result & { readonly fallbackCalls: number };

interface Results<Result extends TabResult> extends TabResults<Settled<Result>> {
  /** Runs one request at a time; a click while it runs is ignored. */
  readonly run: (request: (signal: AbortSignal) => Promise<Result>) => void;
}

/** The answers of a tab; they outlive the tab, and `name` must be unique among the tabs. */
export function useResults<Result extends TabResult>(name: string): Results<Result> {
  const { addSpent } = useSpending();
  const { id: userId } = useCurrentUser();
  const { id: organizationId } = useOrganization();
  const tab = `${userId} ${organizationId} ${name}`;
  const state = useSyncExternalStore(store.subscribe, () => store.get(tab)) as TabResults<Settled<Result>>;
  return {
    ...state,
    run: (request) =>
      void store.runRequest(tab, async (signal) => {
        const result = await request(signal);
        addSpent(result.costMicro);
        return { ...result, fallbackCalls: await fallbackCallsOf(organizationId, result.requestId) };
      }),
  };
}
