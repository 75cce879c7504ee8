import { formatBytes } from '../../format/count';
import { Button } from '../../ui/button';

interface FileFieldProps {
  readonly label: string;
  /** Of the picker, for example `audio/*`. */
  readonly accept: string;
  readonly file: File | null;
  readonly onChange: (file: File | null) => void;
}

export function FileField({ label, accept, file, onChange }: FileFieldProps) {
  return (
    <div className="flex flex-col gap-1">
      <label className="flex flex-col gap-1">
        <span className="font-medium">{label}</span>
        <input
          type="file"
          accept={accept}
          className="control"
          onChange={(event) => onChange(event.currentTarget.files?.[0] ?? null)}
        />
      </label>
      {file !== null && (
        <p className="flex items-center gap-2 text-muted">
          <span className="truncate">
            {file.name}, {formatBytes(file.size)}
          </span>
          <Button variant="quiet" small onClick={() => onChange(null)}>
            Leave out
          </Button>
        </p>
      )}
    </div>
  );
}
