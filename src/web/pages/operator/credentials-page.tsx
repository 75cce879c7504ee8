import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Credential } from '../../../contract/dashboard';
import { credentialsQuery } from '../../api/operator';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { DeleteCredentialDialog, SetCredentialDialog } from './credential-dialogs';
import { credentialsSearch } from './filters';
import { ProviderInstancesCard } from './provider-instances-card';

interface Opened {
  readonly kind: 'set' | 'delete';
  readonly credential: Credential;
}

export function CredentialsPage() {
  const search = useSearch({ from: '/signed-in/operator/credentials' });
  const navigate = useNavigate({ from: '/operator/credentials' });
  const query = useQuery(credentialsQuery);
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  return (
    <>
      <PageHeader
        title="Credentials"
        description="Keys and addresses of providers. Stored values are encrypted, override the environment and are never shown again."
      />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search by name"
          value={search.search ?? ''}
          onChange={(text) => void navigate({ search: credentialsSearch({ ...search, search: text }), replace: true })}
        />
        <Select
          label="Show"
          value={search.show ?? ''}
          options={[
            ['', 'with a value'],
            ['all', 'all'],
          ]}
          onChange={(show) => void navigate({ search: credentialsSearch({ ...search, show }) })}
        />
      </div>
      <Card flush>
        <QueryView query={query}>
          {(credentials) => (
            <DataTable
              label="Credentials"
              columns={columnsFor(setOpened)}
              rows={credentials.filter((credential) => matches(credential, search))}
              rowKey={({ name }) => name}
              empty={
                search.search === undefined ? (
                  <Empty title="No credential has a value">
                    Choose “all” to see which ones the providers of this build read, and set one.
                  </Empty>
                ) : (
                  <Empty title="No credential matches">Search for another part of the name.</Empty>
                )
              }
            />
          )}
        </QueryView>
      </Card>
      <ProviderInstancesCard />
      {opened?.kind === 'set' && <SetCredentialDialog credential={opened.credential} onClose={close} />}
      {opened?.kind === 'delete' && <DeleteCredentialDialog credential={opened.credential} onClose={close} />}
    </>
  );
}

/** A search also finds names without a value. */
function matches(
  { name, source, stored }: Credential,
  { search, show }: ReturnType<typeof credentialsSearch>,
): boolean {
  const hasValue = source !== null || stored !== null;
  return (
    name.toLowerCase().includes(search?.toLowerCase() ?? '') && (hasValue || show === 'all' || search !== undefined)
  );
}

function columnsFor(onOpen: (opened: Opened) => void): ReadonlyArray<Column<Credential>> {
  return [
    {
      id: 'name',
      head: 'Name',
      cell: ({ name }) => <code className="font-mono text-[0.8125rem] break-all">{name}</code>,
    },
    { id: 'source', head: 'Value', cell: (credential) => <Value credential={credential} /> },
    {
      id: 'key',
      head: 'Encryption key',
      priority: 'low',
      cell: ({ stored }) => stored !== null && <code className="font-mono text-[0.8125rem]">{stored.key_id}</code>,
    },
    {
      id: 'updated',
      head: 'Stored',
      priority: 'middle',
      cell: ({ stored }) => stored !== null && <Ago time={stored.updated_at} />,
    },
    {
      id: 'actions',
      head: <span className="sr-only">Actions</span>,
      end: true,
      cell: (credential) => (
        <span className="inline-flex flex-wrap justify-end gap-2">
          <Button small onClick={() => onOpen({ kind: 'set', credential })}>
            {credential.stored === null ? 'Set' : 'Replace'}
            <span className="sr-only"> {credential.name}</span>
          </Button>
          {credential.stored !== null && (
            <Button small onClick={() => onOpen({ kind: 'delete', credential })}>
              Delete<span className="sr-only"> {credential.name}</span>
            </Button>
          )}
        </span>
      ),
    },
  ];
}

function Value({ credential: { source, stored } }: { readonly credential: Credential }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      <Badge tone={source === null ? 'neutral' : 'good'}>{source ?? 'none'}</Badge>
      {stored !== null && stored.last4 !== null && <span className="font-mono text-muted">…{stored.last4}</span>}
      {stored?.readable === false && <Badge tone="bad">cannot be decrypted</Badge>}
    </span>
  );
}
