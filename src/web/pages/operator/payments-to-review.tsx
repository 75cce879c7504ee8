import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { OperatorPurchase } from '../../../contract/dashboard';
import { purchasesToReviewQuery } from '../../api/operator';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Ago } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { ListView } from './list-view';
import { purchaseColumns } from './purchase-columns';
import { paymentLabel, ReviewDialog } from './review-dialog';

const columnsFor = (onReview: (purchase: OperatorPurchase) => void): ReadonlyArray<Column<OperatorPurchase>> => [
  {
    id: 'organization',
    head: 'Organization',
    cell: ({ organization_id: org, organization_name, created_at }) => (
      <>
        <Link to="/operator/organizations/$org" params={{ org }} className="link font-medium wrap-anywhere">
          {organization_name}
        </Link>
        <span className="block text-muted">
          ordered <Ago time={created_at} />
        </span>
      </>
    ),
  },
  ...purchaseColumns,
  {
    id: 'action',
    head: <span className="sr-only">Action</span>,
    end: true,
    cell: (purchase) => (
      <Button small onClick={() => onReview(purchase)}>
        Mark as reviewed<span className="sr-only">: {paymentLabel(purchase, purchase.organization_name)}</span>
      </Button>
    ),
  },
];

/** Payments that a person has to compare with the payment provider. */
export function PaymentsToReview() {
  const query = useInfiniteQuery(purchasesToReviewQuery);
  const [reviewing, setReviewing] = useState<OperatorPurchase>();
  return (
    <Card
      title="Payments that need attention"
      description="Payments that differ from their order, arrived twice, or were refunded beyond the balance."
      className="mb-4"
      flush
    >
      <ListView query={query}>
        {(purchases) => (
          <DataTable
            label="Payments that need attention"
            columns={columnsFor(setReviewing)}
            rows={purchases}
            rowKey={({ id }) => id}
            empty={
              <p className="px-4 pb-4 text-muted sm:px-5">None. Every payment matches its order or was reviewed.</p>
            }
          />
        )}
      </ListView>
      <LoadMore query={query} />
      {reviewing !== undefined && <ReviewDialog purchase={reviewing} onClose={() => setReviewing(undefined)} />}
    </Card>
  );
}
