import { useQuery } from '@tanstack/react-query';
import { useKeyOptions } from '../../api/keys';
import { modelsQuery } from '../../api/models';
import { oneOf } from '../../app/search-values';
import { useOrganization } from '../../app/use-session';
import { DayRange } from '../../ui/day-range';
import { FilterBar } from '../../ui/filter-bar';
import { Select } from '../../ui/select';
import { JOB_KINDS, JOB_STATUSES, type JobSearch } from './job-filters';

interface JobFilterBarProps {
  readonly search: JobSearch;
  readonly onChange: (changes: JobSearch) => void;
  readonly onClear?: () => void;
}

type Options = ReadonlyArray<readonly [string, string]>;

export function JobFilterBar({ search, onChange, onClear }: JobFilterBarProps) {
  const keys = useKeyOptions(useOrganization().id, search.key);
  const models = useQuery(modelsQuery).data ?? [];
  const kinds = models.filter(({ modality }) => modality === (search.kind ?? modality));
  const media = kinds.filter(({ modality }) => modality === 'video' || modality === 'music');
  return (
    <FilterBar onClear={onClear}>
      <Select
        label="Kind"
        value={search.kind ?? ''}
        options={[
          ['', 'All'],
          ['video', 'Video'],
          ['music', 'Music'],
        ]}
        onChange={(kind) => onChange({ kind: oneOf(kind, JOB_KINDS), model: undefined })}
      />
      <Select
        label="Status"
        value={search.status ?? ''}
        options={[['', 'All'], ...JOB_STATUSES.map((status) => [status, status] as const)]}
        onChange={(status) => onChange({ status: oneOf(status, JOB_STATUSES) })}
      />
      <Select
        label="Model"
        value={search.model ?? ''}
        options={withChosen(
          media.map(({ id }) => [id, id]),
          search.model,
        )}
        onChange={(model) => onChange({ model: model === '' ? undefined : model })}
      />
      <Select
        label="Key"
        value={search.key ?? ''}
        options={[['', 'All'], ...keys]}
        onChange={(key) => onChange({ key: key === '' ? undefined : key })}
      />
      <DayRange from={search.from} to={search.to} onChange={onChange} />
    </FilterBar>
  );
}

/** The chosen value stays an option when it is not served or live any more. */
function withChosen(options: Options, chosen: string | undefined): Options {
  const missing = chosen !== undefined && !options.some(([value]) => value === chosen);
  return [['', 'All'], ...options, ...(missing ? [[chosen, chosen] as const] : [])];
}
