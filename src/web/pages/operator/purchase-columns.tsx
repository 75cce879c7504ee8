import type { OperatorPurchase } from '../../../contract/dashboard';
import { Amount } from '../../ui/amount';
import type { Column } from '../../ui/data-table';
import { PurchaseBadge } from '../billing/purchase-words';

/** Columns of the lists of purchases, after the first one. */
export const purchaseColumns: ReadonlyArray<Column<OperatorPurchase>> = [
  { id: 'status', head: 'Status', cell: (purchase) => <PurchaseState {...purchase} /> },
  { id: 'reference', head: 'At the provider', cell: (purchase) => <Reference {...purchase} />, priority: 'low' },
  { id: 'amount', head: 'Amount', cell: (purchase) => <PurchaseAmount {...purchase} />, end: true },
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

function PurchaseAmount({ amount_micro, refunded_micro, disputed_micro, owed_micro }: OperatorPurchase) {
  const parts = [
    ['refunded', refunded_micro],
    ['disputed', disputed_micro],
    ['owed', owed_micro],
  ] as const;
  return (
    <>
      <Amount micro={amount_micro} />
      {parts
        .filter(([, micro]) => micro > 0)
        .map(([word, micro]) => (
          <span key={word} className="block text-xs text-warn">
            <Amount micro={micro} /> {word}
          </span>
        ))}
    </>
  );
}
