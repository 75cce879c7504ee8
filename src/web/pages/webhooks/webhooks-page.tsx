import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { deliveriesQuery } from '../../api/webhooks';
import { isFiltered, oneOf } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { dayAfter } from '../../format/days';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { DayRange } from '../../ui/day-range';
import { Empty } from '../../ui/empty';
import { FilterBar } from '../../ui/filter-bar';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { RoleButton } from '../../ui/role-button';
import { Select } from '../../ui/select';
import { TabLink, TabList } from '../../ui/tabs';
import { DELIVERY_STATES, type DeliverySearch, WEBHOOK_EVENTS } from './delivery-filters';
import { DeliveryTable } from './delivery-table';
import { SendTest } from './send-test';
import { Signing } from './signing';

/** Deliveries of events to the receivers of customers, and the secret that signs them. */
export function WebhooksPage() {
  const { id } = useOrganization();
  const { tab } = useSearch({ from: '/signed-in/o/$org/webhooks' });
  const [testing, setTesting] = useState(false);
  const activeOptions = { explicitUndefined: true };
  return (
    <>
      <PageHeader
        title="Webhooks"
        description="When a job succeeds or fails, a signed event is sent to the webhook_url of its request."
        actions={
          <RoleButton least="developer" onClick={() => setTesting(true)}>
            Send a test
          </RoleButton>
        }
      />
      <TabList label="Views of webhooks">
        <TabLink to="/o/$org/webhooks" params={{ org: id }} search={{ tab: undefined }} activeOptions={activeOptions}>
          Deliveries
        </TabLink>
        <TabLink to="/o/$org/webhooks" params={{ org: id }} search={{ tab: 'signing' }} activeOptions={activeOptions}>
          Signing secret
        </TabLink>
      </TabList>
      {tab === 'signing' ? <Signing /> : <Deliveries onTest={() => setTesting(true)} />}
      {testing && <SendTest onClose={() => setTesting(false)} />}
    </>
  );
}

function Deliveries({ onTest }: { readonly onTest: () => void }) {
  const { id } = useOrganization();
  const { tab: _tab, ...filters } = useSearch({ from: '/signed-in/o/$org/webhooks' });
  const { job, to, ...others } = filters;
  const navigate = useNavigate({ from: '/o/$org/webhooks' });
  const deliveries = useInfiniteQuery(
    deliveriesQuery(id, { ...others, job_id: job, to: to === undefined ? undefined : dayAfter(to) }),
  );
  const clear = isFiltered(filters) ? (): void => void navigate({ search: {} }) : undefined;
  return (
    <Card flush>
      <DeliveryFilterBar onClear={clear} />
      <QueryView query={deliveries}>
        {({ pages }) => (
          <DeliveryTable
            label="Deliveries"
            deliveries={pages.flatMap(({ data }) => data)}
            empty={clear === undefined ? <NoDeliveries onTest={onTest} /> : <NoMatch onClear={clear} />}
          />
        )}
      </QueryView>
      <LoadMore query={deliveries} />
    </Card>
  );
}

function DeliveryFilterBar({ onClear }: { readonly onClear?: () => void }) {
  const search = useSearch({ from: '/signed-in/o/$org/webhooks' });
  const navigate = useNavigate({ from: '/o/$org/webhooks' });
  const change = (changes: DeliverySearch): void =>
    void navigate({ search: (current) => ({ ...current, ...changes }) });
  return (
    <FilterBar onClear={onClear}>
      <Select
        label="State"
        value={search.state ?? ''}
        options={[['', 'All'], ...DELIVERY_STATES.map((state) => [state, state] as const)]}
        onChange={(state) => change({ state: oneOf(state, DELIVERY_STATES) })}
      />
      <Select
        label="Event"
        value={search.event ?? ''}
        options={[['', 'All'], ...WEBHOOK_EVENTS.map((event) => [event, event] as const)]}
        onChange={(event) => change({ event: oneOf(event, WEBHOOK_EVENTS) })}
      />
      <DayRange from={search.from} to={search.to} onChange={change} />
      {search.job !== undefined && <span className="text-muted">Job {search.job}</span>}
    </FilterBar>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty title="No delivery matches these filters">
      <Button onClick={onClear}>Show all deliveries</Button>
    </Empty>
  );
}

function NoDeliveries({ onTest }: { readonly onTest: () => void }) {
  const { may } = useOrganization();
  return (
    <Empty title="No deliveries in the last 30 days">
      <p className="mb-3">
        Set <code className="font-mono">webhook_url</code> in a video or music request, and its events appear here with
        every attempt. Send a test to check your receiver.
      </p>
      {may('developer') && <Button onClick={onTest}>Send a test</Button>}
    </Empty>
  );
}
