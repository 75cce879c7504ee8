import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState, type MouseEvent } from 'react';
import type { UsageRequest } from '../../../contract/dashboard';
import { requestsExport, requestsQuery } from '../../api/requests';
import type { RequestSearch } from '../../api/request-search';
import { FailureView } from '../../app/failure-view';
import { isFiltered } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { countOf } from '../../format/count';
import { Banner } from '../../ui/banner';
import { Button, ButtonAnchor, ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { Download, Radio } from '../../ui/icons';
import { Moment } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { SkeletonRows } from '../../ui/skeleton';
import { ColumnMenu } from './column-menu';
import { RequestFilters } from './request-filters';
import { RequestPanel } from './request-panel';
import { RequestTable } from './request-table';
import { SampleCurl } from './sample-curl';
import { useHeldRows } from './use-held-rows';
import { isWide } from './is-wide';
import { VolumeCard } from './volume-card';

/** Every request of the organization's keys, latest first. */
export function RequestsPage() {
  const { request, ...search } = useSearch({ from: '/signed-in/o/$org/requests' });
  const organization = useOrganization();
  const navigate = useNavigate();
  const [live, setLive] = useState(false);
  const params = { org: organization.id };
  const show = (next: string | undefined): void =>
    void navigate({ to: '/o/$org/requests', params, search: { ...search, request: next }, resetScroll: false });
  return (
    <>
      <PageHeader
        title="Requests"
        description="Newest first. Prompts and responses are not stored."
        actions={
          <>
            <Button aria-pressed={live} variant={live ? 'primary' : 'secondary'} onClick={() => setLive(!live)}>
              <Radio size={16} aria-hidden="true" /> Live
            </Button>
            <ColumnMenu />
            <ButtonAnchor href={requestsExport(organization.id, search)} download>
              <Download size={16} aria-hidden="true" /> CSV
            </ButtonAnchor>
          </>
        }
      />
      <RequestFilters search={search} />
      <VolumeCard search={search} />
      <RequestList
        key={JSON.stringify(search)}
        search={search}
        live={live}
        current={request}
        onFollow={({ request_id: followed }, event) => {
          // A click that opens a new tab or window is for the browser.
          if (!isWide() || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          show(followed);
        }}
      />
      {request !== undefined && <RequestPanel request={request} onClose={() => show(undefined)} />}
    </>
  );
}

interface RequestListProps {
  readonly search: RequestSearch;
  readonly live: boolean;
  readonly current: string | undefined;
  readonly onFollow: (request: UsageRequest, event: MouseEvent) => void;
}

function RequestList({ search, live, current, onFollow }: RequestListProps) {
  const organization = useOrganization();
  const query = useInfiniteQuery(requestsQuery(organization.id, search, live));
  const region = useRef<HTMLDivElement>(null);
  const all = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const { rows, waiting, showAll } = useHeldRows(all, region);
  return (
    <>
      {query.data !== undefined && query.error !== null && !query.isFetchNextPageError && (
        <Banner tone="warn" role="status">
          Could not be refreshed: {query.error.message} Shown as of{' '}
          <Moment time={new Date(query.dataUpdatedAt).toISOString()} zoned />.
        </Banner>
      )}
      <div ref={region} className="relative">
        {waiting > 0 && (
          // Over the list, which it must not move.
          <div className="pointer-events-none absolute inset-x-0 -top-4 z-10 flex justify-center">
            <Button small onClick={showAll} className="pointer-events-auto shadow-raised">
              Show {countOf(waiting, 'new request')}
            </Button>
          </div>
        )}
        <Card flush>
          {query.data === undefined ? (
            query.error === null ? (
              <SkeletonRows />
            ) : (
              <div className="p-4">
                <FailureView error={query.error} onRetry={() => void query.refetch()} />
              </div>
            )
          ) : (
            <>
              <RequestTable
                rows={rows}
                current={current}
                onFollow={onFollow}
                empty={query.hasNextPage ? <NoneYet /> : <NoRequests search={search} />}
              />
              <LoadMore query={query} />
            </>
          )}
        </Card>
      </div>
    </>
  );
}

/** The search pauses after some 50,000 requests. */
function NoneYet() {
  return <Empty title="No match among the latest requests">Show more to search the older ones.</Empty>;
}

function NoRequests({ search }: { readonly search: RequestSearch }) {
  const { id } = useOrganization();
  const navigate = useNavigate();
  if (isFiltered(search)) {
    return (
      <Empty title="No request matches these filters">
        <Button onClick={() => void navigate({ to: '/o/$org/requests', params: { org: id }, search: {} })}>
          Clear all filters
        </Button>
      </Empty>
    );
  }
  return (
    <Empty title="No requests yet">
      <p className="mb-3">
        Each request with an API key appears here with its status, tokens, times and exact cost. Send the first one,
        with the key in the variable KEY:
      </p>
      <div className="mb-4 text-start text-ink">
        <SampleCurl />
      </div>
      <ButtonLink to="/o/$org/keys" params={{ org: id }}>
        API keys
      </ButtonLink>
    </Empty>
  );
}
