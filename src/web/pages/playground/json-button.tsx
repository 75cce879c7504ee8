import { useState } from 'react';
import { createPortal } from 'react-dom';
import { keptExchange, type Exchange } from '../../api/exchanges';
import { Button } from '../../ui/button';
import { CodeBlock } from '../../ui/code-block';
import { Dialog } from '../../ui/dialog';
import { Braces } from '../../ui/icons';

/** Shows a request and its reply as JSON; nothing when they are no longer in memory. */
export function JsonButton({ requestId }: { readonly requestId: string }) {
  const [shown, setShown] = useState<Exchange | null>(null);
  const exchange = keptExchange(requestId);
  if (exchange === undefined) return null;
  return (
    <>
      <Button variant="quiet" small onClick={() => setShown(keptExchange(requestId) ?? exchange)}>
        <Braces size={14} aria-hidden="true" />
        JSON
      </Button>
      {shown !== null &&
        // Answers are in live regions, which would read the dialog out.
        createPortal(
          <Dialog title="Request and reply as JSON" wide onClose={() => setShown(null)}>
            <ExchangeView exchange={shown} />
          </Dialog>,
          document.body,
        )}
    </>
  );
}

function ExchangeView({ exchange: { path, request, status, reply } }: { readonly exchange: Exchange }) {
  return (
    <div className="space-y-4">
      <p className="text-muted">Long values, such as images, are shortened. The API key is left out.</p>
      <section>
        <h3 className="mb-1 font-medium">Request: POST {path}</h3>
        <CodeBlock label="request JSON" code={JSON.stringify(request, null, 2)} />
      </section>
      <section>
        <h3 className="mb-1 font-medium">Reply: status {status}</h3>
        {reply === undefined ? (
          <p className="text-muted">The reply is not JSON, or has not arrived.</p>
        ) : (
          <CodeBlock label="reply JSON" code={JSON.stringify(reply, null, 2)} />
        )}
      </section>
    </div>
  );
}
