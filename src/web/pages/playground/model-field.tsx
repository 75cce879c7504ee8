import type { Model } from '../../../contract/dashboard';

interface ModelFieldProps {
  readonly label: string;
  readonly models: readonly Model[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** Chooses one of the models, grouped by vendor. */
export function ModelField({ label, models, value, onChange }: ModelFieldProps) {
  const vendors = Map.groupBy(models, ({ owned_by: vendor }) => vendor);
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="font-medium">{label}</span>
      <select className="control" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {[...vendors].map(([vendor, group]) => (
          <optgroup key={vendor} label={vendor}>
            {group.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}
