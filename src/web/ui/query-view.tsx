import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailureView } from '../app/failure-view';
import { Banner } from './banner';
import { Moment } from './moment';
import { SkeletonRows } from './skeleton';

interface QueryViewProps<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
  readonly loading?: ReactNode;
}

/** The states of loaded data: loading, failed, stale with its time, or there. */
export function QueryView<T>({ query, children, loading = <SkeletonRows /> }: QueryViewProps<T>) {
  const { data, error } = query;
  if (data === undefined) {
    return error === null ? loading : <FailureView error={error} onRetry={() => void query.refetch()} />;
  }
  return (
    <>
      {error !== null && (
        <Banner tone="warn" role="status">
          Could not be refreshed: {error.message} Shown as of{' '}
          <Moment time={new Date(query.dataUpdatedAt).toISOString()} zoned />.
        </Banner>
      )}
      {children(data)}
    </>
  );
}
