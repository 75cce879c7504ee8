import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Purchase } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { purchasesQuery } from '../../api/ledger';
import { membersQuery } from '../../api/organizations';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { formatMicro } from '../../format/money';
import { Button, ButtonAnchor } from '../../ui/button';
import { Card } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { type Column, DataTable } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago, Moment, TimeHead } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';
import { purchaseInWords, PurchaseAmount, PurchaseBadge } from './purchase-words';

const COLUMNS: ReadonlyArray<Column<Purchase>> = [
  {
    id: 'time',
    head: <TimeHead label="Ordered" />,
    cell: ({ created_at }) => <Moment time={created_at} />,
    priority: 'middle',
  },
  {
    id: 'amount',
    head: 'Amount',
    cell: (purchase) => <PurchaseAmount {...purchase} owedLabel="still owed" />,
    end: true,
  },
  { id: 'status', head: 'Status', cell: (purchase) => <PurchaseState {...purchase} /> },
  { id: 'by', head: 'By', cell: ({ created_by }) => <Buyer userId={created_by} />, priority: 'low' },
  {
    id: 'actions',
    head: <span className="sr-only">Actions</span>,
    cell: (purchase) => <Actions {...purchase} />,
    end: true,
  },
];

/** All purchases, newest first, with what was paid back. */
export function Purchases() {
  const purchases = useInfiniteQuery(purchasesQuery(useOrganization().id));
  return (
    <Card flush title="Purchases">
      <QueryView query={purchases}>
        {({ pages }) => (
          <DataTable
            label="Purchases"
            rows={pages.flatMap(({ data }) => data)}
            rowKey={({ id }) => id}
            columns={COLUMNS}
            empty={
              <Empty title="No purchases yet">Credit that you buy appears here with the state of its payment.</Empty>
            }
          />
        )}
      </QueryView>
      <LoadMore query={purchases} />
    </Card>
  );
}

function PurchaseState(purchase: Purchase) {
  const { status, expires_at } = purchase;
  return (
    <div className="md:min-w-56">
      <PurchaseBadge status={status} />
      <p className="mt-0.5 max-w-72 text-xs text-muted max-md:hidden">
        {purchaseInWords(purchase)}
        {status === 'pending' && (
          <>
            {' '}
            Expires <Ago time={expires_at} />.
          </>
        )}
      </p>
    </div>
  );
}

function Buyer({ userId }: { readonly userId: string | null }) {
  const members = useQuery(membersQuery(useOrganization().id)).data?.data;
  if (userId === null) return null;
  const member = members?.find(({ user_id }) => user_id === userId);
  return <span title={member?.email}>{member?.name ?? 'a former member'}</span>;
}

function Actions(purchase: Purchase) {
  const [withdrawing, setWithdrawing] = useState(false);
  if (purchase.status !== 'pending') return null;
  const amount = formatMicro(purchase.amount_micro);
  return (
    <div className="flex flex-wrap justify-end gap-2 text-start">
      {purchase.checkout_url !== null && (
        <ButtonAnchor small href={purchase.checkout_url}>
          Pay<span className="sr-only"> {amount}</span>
        </ButtonAnchor>
      )}
      <Button small onClick={() => setWithdrawing(true)}>
        Withdraw<span className="sr-only"> {amount}</span>
      </Button>
      {withdrawing && <WithdrawDialog purchase={purchase} onClose={() => setWithdrawing(false)} />}
    </div>
  );
}

function WithdrawDialog({ purchase, onClose }: { readonly purchase: Purchase; readonly onClose: () => void }) {
  const { id: org } = useOrganization();
  const notice = useNotice();
  const withdraw = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/billing/purchases/{purchase_id}/cancel', {
          params: { path: { organization_id: org, purchase_id: purchase.id } },
        }),
      ),
    invalidates: [['organization', org, 'billing']],
    onDone: () => {
      onClose();
      notice('Purchase withdrawn');
    },
  });
  return (
    <ConfirmDialog
      title={`Withdraw the purchase of ${formatMicro(purchase.amount_micro)}?`}
      confirm="Withdraw"
      pending={withdraw.pending}
      error={withdraw.error}
      onConfirm={() => withdraw.run(undefined)}
      onClose={onClose}
    >
      <p>
        It can no longer be paid, and no longer counts towards the purchase limits. A payment that is already on its way
        is still credited.
      </p>
    </ConfirmDialog>
  );
}
