import type { OperatorPurchase } from '../../../contract/dashboard';
import type { Column } from '../../ui/data-table';
import { PurchaseAmount, PurchaseBadge } from '../billing/purchase-words';

/** Columns of the lists of purchases, after the first one. */
export const purchaseColumns: ReadonlyArray<Column<OperatorPurchase>> = [
  { id: 'status', head: 'Status', cell: (purchase) => <PurchaseState {...purchase} /> },
  { id: 'reference', head: 'At the provider', cell: (purchase) => <Reference {...purchase} />, priority: 'low' },
  { id: 'amount', head: 'Amount', cell: (purchase) => <PurchaseAmount {...purchase} owedLabel="owed" />, end: true },
];

function PurchaseState({ status, failure }: OperatorPurchase) {
  return (
    <>
      <PurchaseBadge status={status} />
      {failure !== null && <p className="mt-0.5 max-w-72 text-xs text-muted">{failure}</p>}
    </>
  );
}

function Reference({ provider, payment_reference, checkout_reference }: OperatorPurchase) {
  const reference = payment_reference ?? checkout_reference;
  return (
    <>
      {provider}
      {reference !== null && (
        <code title={reference} className="block max-w-48 truncate font-mono text-xs text-muted">
          {reference}
        </code>
      )}
    </>
  );
}
