import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { liveKeysQuery, playgroundKeysQuery, revokedKeysQuery } from '../../api/keys';
import { organizationQuery } from '../../api/organizations';
import { useOrganization } from '../../app/use-session';
import { countOf, formatCount } from '../../format/count';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { Plus } from '../../ui/icons';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { TabLink, TabList } from '../../ui/tabs';
import { CreateKeyDialog } from './create-key-dialog';
import { arrangeKeys } from './key-filter';
import { KeysTable } from './keys-table';
import { KeysToolbar } from './keys-toolbar';

const SHOWN_AT_ONCE = 100;

/** The keys of an organization: live ones as a whole, revoked ones page by page. */
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
  const search = useSearch({ from: '/signed-in/o/$org/keys' });
  const navigate = useNavigate({ from: '/o/$org/keys' });
  const query = useQuery(liveKeysQuery(id));
  const most = useQuery(organizationQuery(id)).data?.max_api_keys;
  const shown = (keys: readonly ApiKey[]) => {
    const found = arrangeKeys(keys, search);
    const description =
      most === undefined ? countOf(keys.length, 'key') : `${formatCount(keys.length)} of ${countOf(most, 'key')}`;
    if (keys.length === 0) {
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
        description={description}
        actions={
          <KeysToolbar
            filter={search}
            onChange={(changes) => void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })}
          />
        }
      >
        <FoundKeys key={`${search.order} ${search.q}`} keys={found} />
      </Card>
    );
  };
  return <QueryView query={query}>{shown}</QueryView>;
}

/** An operator can allow thousands of keys, and a table of all of them takes seconds. */
function FoundKeys({ keys }: { readonly keys: readonly ApiKey[] }) {
  const [most, setMost] = useState(SHOWN_AT_ONCE);
  return (
    <>
      <KeysTable label="Live keys" keys={keys.slice(0, most)} empty={<Empty title="No key matches" />} />
      {keys.length > most && (
        <div className="flex justify-center border-t p-3">
          <Button onClick={() => setMost(most + SHOWN_AT_ONCE)}>Show more</Button>
        </div>
      )}
    </>
  );
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
