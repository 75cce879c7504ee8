import { useInfiniteQuery } from '@tanstack/react-query';
import type { OperatorAuditEntry } from '../../../contract/dashboard';
import { platformAuditQuery } from '../../api/operator';
import { formatMicro, formatSignedMicro } from '../../format/money';
import { Ago } from '../../ui/moment';
import { PAYMENT_EVENT, paymentChange } from '../people/payment-change';
import { actorInWords, changeInWords } from './audit-entry';
import { ListView } from './list-view';

const SHOWN = 8;

/** The latest changes to an organization. */
export function RecentChanges({ organizationId }: { readonly organizationId: string }) {
  const query = useInfiniteQuery(platformAuditQuery({ organization_id: organizationId }));
  return (
    <ListView query={query}>
      {(entries) =>
        entries.length === 0 ? (
          <p className="text-muted">No changes yet.</p>
        ) : (
          <ul className="divide-y">
            {entries.slice(0, SHOWN).map((entry) => (
              <Change key={entry.id} entry={entry} />
            ))}
          </ul>
        )
      }
    </ListView>
  );
}

function Change({ entry }: { readonly entry: OperatorAuditEntry }) {
  const { actor, created_at, after } = entry;
  return (
    <li className="py-2 first:pt-0 last:pb-0">
      <div className="flex flex-wrap justify-between gap-x-4">
        <span className="font-medium">
          {changeInWords(entry)}
          {typeof after?.amount_micro === 'number' && ` ${amountInWords(entry, after.amount_micro)}`}
          {after?.applied === false && ', booked before'}
        </span>
        <span className="text-muted">
          <Ago time={created_at} />
        </span>
      </div>
      <p className="wrap-anywhere text-muted">
        by {actorInWords(actor)}
        {typeof after?.reason === 'string' && `: “${after.reason}”`}
      </p>
    </li>
  );
}

/** With a sign only where the operator booked the amount: orders book nothing, and payments may book less. */
function amountInWords({ action, before, after }: OperatorAuditEntry, micro: number): string {
  if (action.startsWith('balance.')) return formatSignedMicro(micro);
  return formatMicro(action === PAYMENT_EVENT ? paymentChange(before, after).micro : micro);
}
