import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../../api/models';
import { sendSampleRequest, type SampleRequest } from '../../api/try-key';
import { ErrorText } from '../../app/failure-view';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/code-block';
import { Secret } from '../../ui/secret';
import { useChange } from '../../ui/use-change';

interface IssuedKeyProps {
  readonly secret: string;
  readonly onDone: () => void;
}

/** A key that was just issued: its secret, and a request that works when pasted. */
export function IssuedKey({ secret, onDone }: IssuedKeyProps) {
  const model = useQuery(modelsQuery).data?.find(({ modality }) => modality === 'text')?.id;
  return (
    <div className="space-y-5">
      <Secret value={secret} object="API key" />
      {model !== undefined && <FirstRequest secret={secret} model={model} />}
      <Button variant="primary" onClick={onDone}>
        I have copied the key
      </Button>
    </div>
  );
}

function FirstRequest({ secret, model }: { readonly secret: string; readonly model: string }) {
  const body: SampleRequest = {
    model,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Say hello in one line.' }],
  };
  const send = useChange({ change: () => sendSampleRequest(secret, body) });
  return (
    <section aria-labelledby="first-request" className="space-y-2">
      <h3 id="first-request" className="font-semibold">
        Try it
      </h3>
      <CodeBlock label="curl command" code={curlOf(secret, body)} />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button small pending={send.pending} onClick={() => send.run(undefined)}>
          {send.pending ? 'Sending' : 'Send it from here'}
        </Button>
        <span className="text-muted">Costs the same as any other request.</span>
      </div>
      {send.result !== undefined && (
        <Banner tone="good" role="status" title="It works">
          {send.result}
        </Banner>
      )}
      {send.error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={send.error} />
        </Banner>
      )}
    </section>
  );
}

function curlOf(secret: string, body: SampleRequest): string {
  return [
    `curl ${window.location.origin}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${secret}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}
