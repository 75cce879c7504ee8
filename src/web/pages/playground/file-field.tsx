import { useState } from 'react';
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
  /** A new input for each round, in which the same file can be chosen again. */
  const [round, setRound] = useState(0);
  return (
    <div className="flex flex-col gap-1">
      <label className="flex flex-col gap-1">
        <span className="font-medium">{label}</span>
        <input
          key={round}
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
          <Button
            variant="quiet"
            small
            onClick={() => {
              setRound(round + 1);
              onChange(null);
            }}
          >
            Remove
          </Button>
        </p>
      )}
    </div>
  );
}
