import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { AuditEntry } from '../../../contract/dashboard';
import { useKeyLabels } from '../../api/keys';
import { membersQuery } from '../../api/organizations';
import { auditQuery, type AuditFilter } from '../../api/people';
import { usePreferences } from '../../app/preferences';
import { isFiltered } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { zoneName } from '../../format/time';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DayInput } from '../../ui/day-range';
import { Empty } from '../../ui/empty';
import { Moment } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { Select } from '../../ui/select';
import { AuditChanges } from './audit-changes';
import { ACTION_TEXTS, actionText } from './audit-filter';
import { PAYMENT_EVENT, paymentChange } from './payment-change';

const ACTIONS = [['', 'Any'], ...Object.entries(ACTION_TEXTS)] as ReadonlyArray<readonly [string, string]>;

/** Every change to the organization, newest first. */
export function AuditPage() {
  const { id } = useOrganization();
  const filter = useSearch({ from: '/signed-in/o/$org/audit' });
  const query = useInfiniteQuery(auditQuery(id, filter));
  const keyLabel = useKeyLabels(id);
  const { timeZone } = usePreferences();
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Every change to this organization: who made it, with the values before and after."
      />
      <AuditToolbar filter={filter} />
      <QueryView query={query}>
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data);
          if (entries.length === 0) {
            return (
              <Card>
                <Empty title={isFiltered(filter) ? 'No change matches' : 'No changes yet'}>
                  {isFiltered(filter) && 'Remove a filter to see more.'}
                </Empty>
              </Card>
            );
          }
          return (
            <Card flush title="Changes" description={`Times are in ${zoneName(timeZone)}.`}>
              <ol>
                {entries.map((entry) => (
                  <AuditItem
                    key={entry.id}
                    entry={entry}
                    organizationId={id}
                    keyName={entry.target.type === 'api_key' ? keyLabel(entry.target.id) : undefined}
                  />
                ))}
              </ol>
              <LoadMore query={query} />
            </Card>
          );
        }}
      </QueryView>
    </>
  );
}

function AuditToolbar({ filter }: { readonly filter: AuditFilter }) {
  const { id } = useOrganization();
  const navigate = useNavigate({ from: '/o/$org/audit' });
  const members = useQuery(membersQuery(id)).data?.data ?? [];
  const people = members.map(({ user_id: user, email }) => [user, email] as const);
  const isUnknown = filter.actor !== undefined && !people.some(([user]) => user === filter.actor);
  const set = (changes: AuditFilter): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true });
  return (
    <div
      role="search"
      aria-label="Filter of the audit log"
      className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2"
    >
      <Select
        label="Change"
        value={filter.action ?? ''}
        options={ACTIONS}
        onChange={(action) => set({ action: action || undefined })}
      />
      <Select
        label="By"
        value={filter.actor ?? ''}
        options={[
          ['', 'Anyone'],
          ...people,
          ...(isUnknown && filter.actor !== undefined ? [[filter.actor, 'a former member'] as const] : []),
        ]}
        onChange={(actor) => set({ actor: actor || undefined })}
      />
      <DayInput label="From (UTC)" value={filter.from} onChange={(from) => set({ from })} />
      <DayInput label="Until (UTC)" value={filter.until} onChange={(until) => set({ until })} />
      {isFiltered(filter) && (
        <Button variant="quiet" onClick={() => void navigate({ search: {}, replace: true })}>
          Remove filters
        </Button>
      )}
    </div>
  );
}

interface AuditItemProps {
  readonly entry: AuditEntry;
  readonly organizationId: string;
  /** Of a changed API key. */
  readonly keyName: string | undefined;
}

function AuditItem({ entry, organizationId, keyName }: AuditItemProps) {
  const { action, actor, address, target, created_at: time, before, after } = entry;
  return (
    <li className="border-t px-4 py-3 sm:px-5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-medium">
          {action === PAYMENT_EVENT ? paymentChange(before, after).text : actionText(action)}
        </span>
        <span className="min-w-0 wrap-anywhere">
          <span className="text-muted">by</span> {actorOf(actor)}
          {address !== null && <span className="text-muted"> from {address}</span>}
        </span>
        <span className="text-muted sm:ms-auto">
          <Moment time={time} />
        </span>
      </div>
      {keyName !== undefined && (
        <Link
          to="/o/$org/keys/$key"
          params={{ org: organizationId, key: target.id }}
          className="link text-[0.8125rem] wrap-anywhere"
        >
          {keyName}
        </Link>
      )}
      <AuditChanges entry={entry} />
    </li>
  );
}

function actorOf({ kind, email }: AuditEntry['actor']): string {
  switch (kind) {
    case 'user':
      return email ?? 'a deleted account';
    case 'operator':
      return 'the operator of this service';
    case 'command':
      return 'an operator’s command line';
    case 'system':
      return 'the gateway';
  }
}
