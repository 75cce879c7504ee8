import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type ApiKeyOrder, liveKeysQuery, playgroundKeysQuery, revokedKeysQuery } from '../../api/keys';
import { organizationQuery } from '../../api/organizations';
import { useOrganization } from '../../app/use-session';
import { countOf, formatCount } from '../../format/count';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { Plus } from '../../ui/icons';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { TabLink, TabList } from '../../ui/tabs';
import { CreateKeyDialog } from './create-key-dialog';
import type { KeyFilter, KeyOrder } from './key-filter';
import { KeysTable } from './keys-table';
import { KeysToolbar } from './keys-toolbar';

const API_ORDERS: Readonly<Record<KeyOrder, ApiKeyOrder>> = {
  newest: 'newest',
  name: 'name',
  used: 'last_used',
  spent: 'month_spent',
};

/** The keys of an organization by kind, page by page. */
export function KeysPage() {
  const { id, may } = useOrganization();
  const { show } = useSearch({ from: '/signed-in/o/$org/keys' });
  const isSuspended = useQuery(organizationQuery(id)).data?.status === 'suspended';
  const [isCreating, setCreating] = useState(false);
  const create = (
    <RoleButton least="developer" disabled={isSuspended} onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden="true" /> Create key
    </RoleButton>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        description="Applications send a key with each request. Give each application its own, so that you can limit, replace and revoke it separately."
        actions={create}
      />
      <TabList label="Kinds of keys">
        <TabLink to="/o/$org/keys" params={{ org: id }} activeOptions={{ includeSearch: true, exact: true }}>
          Live
        </TabLink>
        <TabLink
          to="/o/$org/keys"
          params={{ org: id }}
          search={{ show: 'revoked' }}
          activeOptions={{ includeSearch: true }}
        >
          Revoked
        </TabLink>
        <TabLink
          to="/o/$org/keys"
          params={{ org: id }}
          search={{ show: 'playground' }}
          activeOptions={{ includeSearch: true }}
        >
          Playground
        </TabLink>
      </TabList>
      {show === undefined && <LiveKeys mayCreate={may('developer')} />}
      {show === 'revoked' && <RevokedKeys />}
      {show === 'playground' && <PlaygroundKeys />}
      {isCreating && <CreateKeyDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function LiveKeys({ mayCreate }: { readonly mayCreate: boolean }) {
  const { id } = useOrganization();
  const filter: KeyFilter = useSearch({ from: '/signed-in/o/$org/keys' });
  const { q, order = 'newest' } = filter;
  const navigate = useNavigate({ from: '/o/$org/keys' });
  const query = useInfiniteQuery(liveKeysQuery(id, { search: q, order: API_ORDERS[order] }));
  const keys = query.data?.pages.flatMap(({ data }) => data);
  const isLoading = query.isPending || query.isPlaceholderData;
  const most = useQuery(organizationQuery(id)).data?.max_api_keys;
  if (keys?.length === 0 && q === undefined && !isLoading) {
    return (
      <Card>
        <Empty title="No keys yet">
          {mayCreate
            ? 'Create one to send your first request. Its secret is shown once, together with a command to try it.'
            : 'A developer of this organization can create one.'}
        </Empty>
      </Card>
    );
  }
  return (
    <Card
      flush
      title="Live keys"
      description={isLoading ? 'Loading' : keys && numberOf(keys.length, query.hasNextPage, q, most)}
      actions={
        <KeysToolbar
          filter={filter}
          onChange={(changes) => void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })}
        />
      }
    >
      <QueryView query={query}>
        {() => <KeysTable label="Live keys" keys={keys ?? []} empty={<Empty title="No key matches" />} />}
      </QueryView>
      <LoadMore query={query} />
    </Card>
  );
}

/** How many keys there are: "12 of 100 keys", "More than 100 keys found". */
function numberOf(read: number, hasMore: boolean, q: string | undefined, most: number | undefined): string {
  const start = hasMore ? 'More than ' : '';
  if (q !== undefined) return `${start}${countOf(read, 'key')} found`;
  return start + (most === undefined ? countOf(read, 'key') : `${formatCount(read)} of ${countOf(most, 'key')}`);
}

function RevokedKeys() {
  const { id } = useOrganization();
  const query = useInfiniteQuery(revokedKeysQuery(id));
  return (
    <QueryView query={query}>
      {({ pages }) => (
        <Card
          flush
          title="Revoked keys"
          description="Requests with these keys are refused. They stay listed because receipts refer to them."
        >
          <KeysTable
            label="Revoked keys"
            keys={pages.flatMap(({ data }) => data)}
            empty={<Empty title="No revoked keys" />}
          />
          <LoadMore query={query} />
        </Card>
      )}
    </QueryView>
  );
}

function PlaygroundKeys() {
  const { id } = useOrganization();
  const query = useInfiniteQuery(playgroundKeysQuery(id));
  return (
    <QueryView query={query}>
      {({ pages }) => (
        <Card
          flush
          title="Playground keys"
          description="One for each member who uses the playground, with a daily budget. The gateway manages them."
        >
          <KeysTable
            label="Playground keys"
            keys={pages.flatMap(({ data }) => data)}
            empty={<Empty title="The playground has not been used yet" />}
          />
          <LoadMore query={query} />
        </Card>
      )}
    </QueryView>
  );
}
