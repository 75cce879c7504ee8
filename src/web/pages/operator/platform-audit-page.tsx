import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { operatorOrganizationQuery, platformAuditQuery } from '../../api/operator';
import { isFiltered } from '../../app/search-values';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DayInput } from '../../ui/day-range';
import { Empty } from '../../ui/empty';
import { X } from '../../ui/icons';
import { TimeHead } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { Select } from '../../ui/select';
import { ORGANIZATION_ACTIONS, PLATFORM_ACTIONS } from './audit-actions';
import { actionInWords, AuditEntry } from './audit-entry';
import { ListView } from './list-view';

export function PlatformAuditPage() {
  const search = useSearch({ from: '/signed-in/operator/audit' });
  const navigate = useNavigate({ from: '/operator/audit' });
  const { organization, action, actor, from, to } = search;
  const query = useInfiniteQuery(platformAuditQuery({ organization_id: organization, action, actor, from, to }));
  const set = (change: Partial<typeof search>): void => void navigate({ search: { ...search, ...change } });
  const actions = organization === undefined ? PLATFORM_ACTIONS : ORGANIZATION_ACTIONS;
  return (
    <>
      <PageHeader
        title="Changes"
        description={
          organization === undefined
            ? 'Changes to prices, models, credentials and accounts. Changes to an organization are on its page.'
            : 'Changes to one organization, with the names of staff.'
        }
      />
      <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
        <Select
          label="Action"
          value={action ?? ''}
          options={[['', 'all'], ...actions.map((each) => [each, actionInWords(each)] as const)]}
          onChange={(value) => set({ action: value || undefined })}
        />
        <DayInput label="From (UTC)" value={from} max={to} onChange={(value) => set({ from: value })} />
        <DayInput label="Before (UTC)" value={to} min={from} onChange={(value) => set({ to: value })} />
        {organization !== undefined && (
          <Filter onRemove={() => void navigate({ search: {} })}>
            Organization: <OrganizationName id={organization} />
          </Filter>
        )}
        {actor !== undefined && <Filter onRemove={() => set({ actor: undefined })}>Changes by one person</Filter>}
      </div>
      <Card flush>
        <ListView query={query}>
          {(entries) =>
            entries.length === 0 ? (
              <NoChanges
                onClear={
                  isFiltered({ action, actor, from, to })
                    ? () => void navigate({ search: { organization } })
                    : undefined
                }
              />
            ) : (
              <>
                <p className="flex justify-between border-b px-4 py-2 font-medium text-muted sm:px-5">
                  <span>Change</span>
                  <span>
                    <TimeHead />
                  </span>
                </p>
                <ul aria-label="Changes">
                  {entries.map((entry) => (
                    <AuditEntry key={entry.id} entry={entry} />
                  ))}
                </ul>
              </>
            )
          }
        </ListView>
        <LoadMore query={query} />
      </Card>
    </>
  );
}

function OrganizationName({ id }: { readonly id: string }) {
  return useQuery(operatorOrganizationQuery(id)).data?.name ?? id;
}

interface FilterProps {
  readonly children: React.ReactNode;
  readonly onRemove: () => void;
}

/** A filter that another page has set. */
function Filter({ children, onRemove }: FilterProps) {
  return (
    <Button small onClick={onRemove}>
      <span className="max-w-60 truncate">{children}</span>
      <X size={14} aria-hidden="true" />
      <span className="sr-only">Remove this filter</span>
    </Button>
  );
}

function NoChanges({ onClear }: { readonly onClear: (() => void) | undefined }) {
  if (onClear === undefined) {
    return <Empty title="No changes yet">Every change appears here with who made it.</Empty>;
  }
  return (
    <Empty title="No change matches these filters">
      <Button onClick={onClear}>Show all changes</Button>
    </Empty>
  );
}
