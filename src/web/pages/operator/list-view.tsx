import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailureView } from '../../app/failure-view';
import { Banner } from '../../ui/banner';
import { Moment } from '../../ui/moment';
import { SkeletonRows } from '../../ui/skeleton';

interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

interface ListViewProps<Row> {
  readonly query: UseInfiniteQueryResult<InfiniteData<ListPage<Row>>>;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** The states of a list in pages: loading, failed, stale, or there. `LoadMore` shows failures of later pages. */
export function ListView<Row>({ query, children }: ListViewProps<Row>) {
  const { data, error } = query;
  if (data === undefined) {
    return error === null ? <SkeletonRows /> : <FailureView error={error} onRetry={() => void query.refetch()} />;
  }
  return (
    <>
      {error !== null && !query.isFetchNextPageError && (
        <Banner tone="warn" role="status">
          Could not be refreshed: {error.message} Shown as of{' '}
          <Moment time={new Date(query.dataUpdatedAt).toISOString()} zoned />.
        </Banner>
      )}
      {children(data.pages.flatMap((page) => page.data))}
    </>
  );
}
