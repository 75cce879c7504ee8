import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { balanceQuery } from '../../api/billing';
import { keysKey } from '../../api/keys';
import { useOrganization } from '../../app/use-session';

interface Spending {
  /** Since the page was opened. */
  readonly spentMicro: bigint;
  /** Counts a charge, and reads the balance again. */
  readonly addSpent: (micro: number) => void;
}

const SpendingContext = createContext<Spending>({ spentMicro: 0n, addSpent: () => undefined });

export function useSpending(): Spending {
  return useContext(SpendingContext);
}

/** Adds up what the tabs of the playground have spent. */
export function SpendingProvider({ children }: { readonly children: ReactNode }) {
  const { id } = useOrganization();
  const queries = useQueryClient();
  const [spentMicro, setSpentMicro] = useState(0n);
  const addSpent = useCallback(
    (micro: number) => {
      setSpentMicro((sum) => sum + BigInt(micro));
      void queries.invalidateQueries({ queryKey: balanceQuery(id).queryKey });
      // The first charge makes the key under which lists and charts name the spending.
      void queries.invalidateQueries({ queryKey: keysKey(id) });
    },
    [queries, id],
  );
  const spending = useMemo(() => ({ spentMicro, addSpent }), [spentMicro, addSpent]);
  return <SpendingContext value={spending}>{children}</SpendingContext>;
}
