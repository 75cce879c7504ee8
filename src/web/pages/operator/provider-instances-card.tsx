import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProviderInstance } from '../../../contract/dashboard';
import { providerInstancesQuery } from '../../api/operator';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { QueryView } from '../../ui/query-view';
import { keyInWords } from './key-in-words';
import { DeleteProviderInstanceDialog, SetProviderInstanceDialog } from './provider-instance-dialogs';

interface Opened {
  readonly kind: 'set' | 'delete';
  /** Absent for a new one. */
  readonly instance?: ProviderInstance;
}

/** Providers with an address and keys of their own. */
export function ProviderInstancesCard() {
  const query = useQuery(providerInstancesQuery);
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  return (
    <Card
      flush
      className="mt-4"
      title="Provider instances"
      description="Providers with their own address and keys. A deployment uses one by naming it as its provider."
      actions={
        <Button small onClick={() => setOpened({ kind: 'set' })}>
          New instance
        </Button>
      }
    >
      <QueryView query={query}>
        {(instances) => (
          <DataTable
            label="Provider instances"
            columns={columnsFor(setOpened)}
            rows={instances}
            rowKey={({ id }) => id}
            empty={
              <Empty title="No provider instances">
                For example a server of your own with the wire format of a known provider.
              </Empty>
            }
          />
        )}
      </QueryView>
      {opened?.kind === 'set' && <SetProviderInstanceDialog instance={opened.instance} onClose={close} />}
      {opened?.kind === 'delete' && opened.instance && (
        <DeleteProviderInstanceDialog id={opened.instance.id} onClose={close} />
      )}
    </Card>
  );
}

function columnsFor(onOpen: (opened: Opened) => void): ReadonlyArray<Column<ProviderInstance>> {
  return [
    {
      id: 'id',
      head: 'Instance',
      cell: ({ id, settings }) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          <span className="font-medium wrap-anywhere">{id}</span>
          {settings === null && <Badge tone="bad">cannot be decrypted</Badge>}
        </span>
      ),
    },
    { id: 'module', head: 'Wire format', cell: ({ settings }) => settings?.module },
    {
      id: 'url',
      head: 'Address',
      priority: 'middle',
      cell: ({ settings }) =>
        settings?.base_url == null ? (
          <span className="text-muted">provider default</span>
        ) : (
          <span className="wrap-anywhere">{settings.base_url}</span>
        ),
    },
    {
      id: 'keys',
      head: 'Keys',
      priority: 'middle',
      cell: ({ settings }) => settings?.api_keys.map(keyInWords).join(', ') || <span className="text-muted">none</span>,
    },
    {
      id: 'actions',
      head: <span className="sr-only">Actions</span>,
      end: true,
      cell: (instance) =>
        instance.source === 'file' ? (
          <span className="text-muted">from the file</span>
        ) : (
          <span className="inline-flex flex-wrap justify-end gap-2">
            <Button small onClick={() => onOpen({ kind: 'set', instance })}>
              Change<span className="sr-only"> {instance.id}</span>
            </Button>
            <Button small onClick={() => onOpen({ kind: 'delete', instance })}>
              Delete<span className="sr-only"> {instance.id}</span>
            </Button>
          </span>
        ),
    },
  ];
}
