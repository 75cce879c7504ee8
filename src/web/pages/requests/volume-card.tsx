import { useQuery } from '@tanstack/react-query';
import { requestVolume } from '../../api/request-volume';
import type { RequestSearch } from '../../api/request-search';
import { usageSeriesQuery, type SeriesParameters } from '../../api/usage';
import { useOrganization } from '../../app/use-session';
import { formatDay } from '../../format/time';
import { Card } from '../../ui/card';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { UsageChart } from '../usage/usage-chart';
import { groupLabel } from '../usage/usage-words';
import { FILTER_WORDS } from './filter-words';

/** How many requests there were over time; a column narrows the list to its hour or day. */
export function VolumeCard({ search }: { readonly search: RequestSearch }) {
  const { query, groups, ignored } = requestVolume(search);
  if (query === null) return null;
  const { range: _range, ...filters } = search;
  const names = ignored.map((name) => FILTER_WORDS[name]);
  return (
    <Card
      className="mb-5"
      title={`Requests by ${query.interval}`}
      description={
        names.length === 0
          ? 'UTC. Choose a column to list its requests.'
          : `UTC. Not filtered by ${new Intl.ListFormat('en', { type: 'disjunction' }).format(names)}.`
      }
    >
      <div className="min-h-46">
        <Volume query={query} groups={groups} filters={filters} />
      </div>
    </Card>
  );
}

interface VolumeProps {
  readonly query: SeriesParameters;
  readonly groups: readonly string[] | null;
  readonly filters: RequestSearch;
}

function Volume({ query, groups, filters }: VolumeProps) {
  const { id } = useOrganization();
  const series = useQuery(usageSeriesQuery(id, query));
  const { group_by: grouping = 'none' } = query;
  return (
    <QueryView query={series} loading={<Skeleton className="h-46 w-full" />}>
      {(all) => {
        const data = groups === null ? all.data : all.data.filter(({ group }) => groups.includes(group));
        if (data.length === 0) {
          return <p className="text-muted">{`None from ${formatDay(all.from)} until ${formatDay(all.to)}.`}</p>;
        }
        return (
          <UsageChart
            low
            series={{ ...all, data }}
            metric="requests"
            filters={filters}
            labelOf={(name) => groupLabel(name, grouping, String)}
          />
        );
      }}
    </QueryView>
  );
}
