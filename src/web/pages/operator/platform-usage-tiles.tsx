import { useQuery } from '@tanstack/react-query';
import { platformUsageQuery } from '../../api/operator';
import { formatCount } from '../../format/count';
import { formatTenths } from '../../format/money';
import { errorTenths } from '../../format/series';
import { Amount } from '../../ui/amount';
import { Tile } from '../../ui/card';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';

const TILES = 4;

/** What all organizations together did in the last 24 hours. */
export function PlatformUsageTiles() {
  const query = useQuery(platformUsageQuery({ interval: 'hour' }));
  const loading = Array.from({ length: TILES }, (_, at) => <Skeleton key={at} className="h-28 rounded-xl" />);
  return (
    <QueryView query={query} loading={loading}>
      {({ total: { requests, errors, input_tokens: input, output_tokens: output, cost_micro: cost } }) => (
        <>
          <Tile label="Revenue" note="charged for requests">
            <Amount micro={cost} large />
          </Tile>
          <Tile label="Requests">{formatCount(requests)}</Tile>
          <Tile label="Errors" note={formatTenths(errorTenths({ errors, requests })) || 'no requests'}>
            {formatCount(errors)}
          </Tile>
          <Tile label="Tokens in" note={`${formatCount(output)} out`}>
            {formatCount(input)}
          </Tile>
        </>
      )}
    </QueryView>
  );
}
