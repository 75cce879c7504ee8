import { useState } from 'react';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/code-block';
import { Dialog } from '../../ui/dialog';
import { CodeXml } from '../../ui/icons';
import { samplesOf, type SampledRequest } from './code-samples';

interface CodeButtonProps {
  readonly build: () => SampledRequest;
  readonly disabled?: boolean;
}

/** Shows programs that send the request; `build` is called when the dialog opens. */
export function CodeButton({ build, disabled }: CodeButtonProps) {
  const [request, setRequest] = useState<SampledRequest | null>(null);
  return (
    <>
      <Button disabled={disabled} onClick={() => setRequest(build())}>
        <CodeXml size={16} aria-hidden="true" />
        Code
      </Button>
      {request !== null && (
        <Dialog title="This request as code" wide onClose={() => setRequest(null)}>
          <CodeSamples request={request} />
        </Dialog>
      )}
    </>
  );
}

export function CodeSamples({ request }: { readonly request: SampledRequest }) {
  return (
    <div className="space-y-4">
      <p className="text-muted">
        Put your API key in the environment variable <code>KEY</code>. The playground’s own key ends with your session.
      </p>
      {samplesOf(request, window.location.origin).map(({ language, code }) => (
        <section key={language}>
          <h3 className="mb-1 font-medium">{language}</h3>
          <CodeBlock code={code} label={`${language} code`} />
        </section>
      ))}
    </div>
  );
}
