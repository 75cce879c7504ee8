import { useState } from 'react';
import type { Artifact } from '../../../contract/dashboard';
import { formatBytes, formatDuration } from '../../format/count';
import { ButtonAnchor } from '../../ui/button';
import { Card } from '../../ui/card';
import { Download } from '../../ui/icons';

interface JobOutputsProps {
  readonly artifacts: readonly Artifact[];
  /** Gets fresh links. */
  readonly onRenew: () => void;
}

/** Players and downloads of what a job made. */
export function JobOutputs({ artifacts, onRenew }: JobOutputsProps) {
  if (artifacts.length === 0) {
    return (
      <Card title="Result">
        <p className="text-muted">The files have been deleted. Results are kept for a limited time.</p>
      </Card>
    );
  }
  return (
    <Card title={artifacts.length === 1 ? 'Result' : 'Results'}>
      <ul className="space-y-6">
        {artifacts.map((artifact, index) => (
          <li key={artifact.id}>
            <Player artifact={artifact} label={`Result ${index + 1}`} onRenew={onRenew} />
            <div className="mt-3 flex flex-wrap items-center justify-between gap-3">
              <span className="text-muted">{describe(artifact)}</span>
              <ButtonAnchor href={artifact.url} download>
                <Download size={14} aria-hidden="true" />
                Download
              </ButtonAnchor>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface PlayerProps {
  readonly artifact: Artifact;
  readonly label: string;
  readonly onRenew: () => void;
}

/** Keeps its link while it works: a new one would start the player again. */
function Player({ artifact: { type, url, width, height }, label, onRenew }: PlayerProps) {
  const [source, setSource] = useState(url);
  // After an error: `renewing` until the fresh link is there; `hopeless` when that fails as well.
  const [state, setState] = useState<'plays' | 'renewing' | 'renewed' | 'hopeless'>('plays');
  if (state === 'renewing' && source !== url) {
    setSource(url);
    setState('renewed');
  }
  const shared = {
    src: source,
    controls: true,
    preload: 'metadata',
    'aria-label': label,
    onLoadedMetadata: () => setState('plays'),
    onError: () => {
      setState(state === 'renewed' ? 'hopeless' : 'renewing');
      if (state !== 'renewed') onRenew();
    },
  } as const;
  if (state === 'hopeless')
    return <p className="text-muted">This browser cannot play the file. Download it instead.</p>;
  // oxlint-disable-next-line jsx-a11y/media-has-caption -- models make no captions
  if (type === 'audio') return <audio {...shared} className="w-full" />;
  const ratio = width === null || height === null ? undefined : `${width} / ${height}`;
  return (
    // oxlint-disable-next-line jsx-a11y/media-has-caption -- models make no captions
    <video
      {...shared}
      playsInline
      style={{ aspectRatio: ratio }}
      className="mx-auto max-h-[70dvh] rounded-lg bg-sunken"
    />
  );
}

function describe({ content_type, size_bytes, width, height, duration_seconds }: Artifact): string {
  const size = width === null || height === null ? null : `${width} × ${height}`;
  return [content_type, size, formatDuration(duration_seconds * 1000), formatBytes(size_bytes)]
    .filter((part) => part !== null)
    .join(', ');
}
