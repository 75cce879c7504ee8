import type { Job } from '../../../contract/dashboard';
import { Card, Facts } from '../../ui/card';

/** What was ordered: the prompt, then the other parameters with the defaults that were applied. */
export function JobParameters({ job }: { readonly job: Job }) {
  const { prompt, ...others } = job.params;
  const metadata = Object.entries(job.metadata);
  return (
    <Card title="Request">
      {typeof prompt === 'string' && (
        <blockquote className="mb-4 max-h-64 overflow-y-auto border-s-2 border-accent ps-3 whitespace-pre-wrap wrap-anywhere">
          {prompt}
        </blockquote>
      )}
      <Facts facts={Object.entries(others).map(([name, value]) => [name, valueInWords(value)])} />
      {metadata.length > 0 && (
        <>
          <h3 className="mt-5 mb-2 font-medium">Metadata</h3>
          <Facts facts={metadata} />
        </>
      )}
    </Card>
  );
}

function valueInWords(value: unknown): string | null {
  if (value == null) return null;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
