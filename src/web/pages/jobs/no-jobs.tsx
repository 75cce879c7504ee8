import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../../api/models';
import { CodeBlock } from '../../ui/code-block';
import { Empty } from '../../ui/empty';

/** Explains what a job is, with a command that makes one here. */
export function NoJobs() {
  const models = useQuery(modelsQuery).data ?? [];
  const model =
    models.find(({ modality }) => modality === 'video') ?? models.find(({ modality }) => modality === 'music');
  if (model === undefined) {
    return <Empty title="No jobs">Videos and music run as jobs. This service has no model for them yet.</Empty>;
  }
  return (
    <Empty title="No jobs yet">
      <p className="mb-3">
        Videos and music take minutes, so they run as jobs: you get an id at once and the result when it is ready. Start
        one with an API key:
      </p>
      <div className="text-start text-ink">
        <CodeBlock label="curl command" code={curlFor(model.id, model.modality)} />
      </div>
    </Empty>
  );
}

function curlFor(model: string, modality: string): string {
  const body = JSON.stringify({ model, prompt: modality === 'video' ? 'A boat at sea' : 'A slow waltz' });
  return `curl ${window.location.origin}/v1/${modality}/generations \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: $(date +%s)" \\
  -d '${body}'`;
}
