import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { balanceQuery } from '../../api/billing';
import { useOrganization } from '../../app/use-session';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { PageSkeleton } from '../../ui/skeleton';
import { TabLink, TabList } from '../../ui/tabs';
import { BalanceOverview } from './balance-overview';
import type { BillingSearch } from './billing-search';
import { BuyCredit } from './buy-credit';
import { Holds } from './holds';
import { Ledger } from './ledger';
import { PaymentReturn } from './payment-return';
import { Purchases } from './purchases';

/** Balance and limits for all members; ledger, purchases and holds for admins. */
export function BillingPage() {
  const { id, may } = useOrganization();
  const { tab, purchase, outcome } = useSearch({ from: '/signed-in/o/$org/billing' });
  const balance = useQuery(balanceQuery(id));
  const [buying, setBuying] = useState(false);
  const isAdmin = may('admin');
  return (
    <>
      <PageHeader
        title="Billing"
        description="Requests are paid from prepaid credit. Days and months are UTC."
        actions={
          balance.data?.purchases.enabled === true && (
            <RoleButton least="admin" onClick={() => setBuying(true)}>
              Buy credit
            </RoleButton>
          )
        }
      />
      {purchase !== undefined && <PaymentReturn key={purchase} purchaseId={purchase} outcome={outcome} />}
      {isAdmin && <BillingTabs />}
      {(tab === undefined || !isAdmin) && (
        <QueryView query={balance} loading={<PageSkeleton />}>
          {(data) => <BalanceOverview balance={data} />}
        </QueryView>
      )}
      {isAdmin && tab === 'ledger' && <Ledger />}
      {isAdmin && tab === 'purchases' && <Purchases />}
      {isAdmin && tab === 'holds' && <Holds />}
      {buying && balance.data !== undefined && (
        <BuyCredit allowance={balance.data.purchases} onClose={() => setBuying(false)} />
      )}
    </>
  );
}

const TABS: ReadonlyArray<readonly [label: string, tab: BillingSearch['tab']]> = [
  ['Overview', undefined],
  ['Ledger', 'ledger'],
  ['Purchases', 'purchases'],
  ['Holds', 'holds'],
];

function BillingTabs() {
  const { id } = useOrganization();
  return (
    <TabList label="Views of billing">
      {TABS.map(([label, tab]) => (
        <TabLink
          key={label}
          to="/o/$org/billing"
          params={{ org: id }}
          search={{ tab }}
          activeOptions={{ explicitUndefined: true }}
        >
          {label}
        </TabLink>
      ))}
    </TabList>
  );
}
