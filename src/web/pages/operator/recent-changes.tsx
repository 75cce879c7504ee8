import { useInfiniteQuery } from '@tanstack/react-query';
import { platformAuditQuery } from '../../api/operator';
import { formatSignedMicro } from '../../format/money';
import { Ago } from '../../ui/moment';
import { actionInWords, actorInWords } from './audit-entry';
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
            {entries.slice(0, SHOWN).map(({ id, action, actor, created_at, after }) => (
              <li key={id} className="py-2 first:pt-0 last:pb-0">
                <div className="flex flex-wrap justify-between gap-x-4">
                  <span className="font-medium">
                    {actionInWords(action)}
                    {typeof after?.amount_micro === 'number' && ` ${formatSignedMicro(after.amount_micro)}`}
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
            ))}
          </ul>
        )
      }
    </ListView>
  );
}
