import { Amount } from '../../ui/amount';
import { amountsOf, conditionsOf, type PriceContent } from './price-content';

/** The amounts of a price, one per line. */
export function PriceAmounts({ price }: { readonly price: PriceContent }) {
  const conditions = conditionsOf(price);
  return (
    <>
      <dl className="grid w-fit grid-cols-[auto_auto] gap-x-8 gap-y-0.5">
        {amountsOf(price).map(({ path, label, per, micro }) => (
          <div key={path} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="text-end">
              {micro !== null && <Amount micro={micro} />} <span className="text-muted">per {per}</span>
            </dd>
          </div>
        ))}
      </dl>
      {conditions.length > 0 && <p className="mt-1 text-muted">{conditions.join(' ')}</p>}
    </>
  );
}
