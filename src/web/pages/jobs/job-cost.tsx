import type { Job } from '../../../contract/dashboard';
import { hasEnded } from '../../api/jobs';
import { Amount } from '../../ui/amount';
import { Card, Facts } from '../../ui/card';
import { KeyName } from '../../ui/key-name';

/** What the job holds or has cost. */
export function JobCost({ job, keyId }: { readonly job: Job; readonly keyId: string }) {
  const ended = hasEnded(job.status);
  return (
    <Card title="Cost">
      <Facts
        facts={[
          ['Charged', ended ? <Amount key="charged" micro={job.cost_micro} /> : 'when it succeeds'],
          [ended ? 'Initial hold' : 'Held now', <Amount key="held" micro={job.estimated_cost_micro} />],
          [
            'Maximum',
            job.max_cost_micro === job.estimated_cost_micro ? null : <Amount key="max" micro={job.max_cost_micro} />,
          ],
          ['API key', <KeyName key="key" keyId={keyId} />],
        ]}
      />
    </Card>
  );
}
