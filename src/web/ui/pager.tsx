import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { ErrorText } from '../app/failure-view';
import { Banner } from './banner';
import { Button } from './button';

interface CursorPage {
  readonly next_cursor?: string | null;
}

/** The `getNextPageParam` of every list of the API. */
export function nextCursor({ next_cursor: cursor }: CursorPage): string | undefined {
  return cursor ?? undefined;
}

/** Loads the next page of a list below the rows shown. */
export function LoadMore<Page extends CursorPage>({
  query,
}: {
  readonly query: UseInfiniteQueryResult<InfiniteData<Page>>;
}) {
  if (query.isFetchNextPageError) {
    return (
      <Banner tone="bad" role="alert">
        <ErrorText error={query.error} />{' '}
        <Button small onClick={() => void query.fetchNextPage()}>
          Try again
        </Button>
      </Banner>
    );
  }
  if (!query.hasNextPage) return null;
  return (
    <div className="flex justify-center border-t p-3">
      <Button pending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.isFetchingNextPage ? 'Loading' : 'Show more'}
      </Button>
    </div>
  );
}
