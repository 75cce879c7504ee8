import { useOrganization } from '../../app/use-session';
import { Card } from '../../ui/card';
import { CodeBlock } from '../../ui/code-block';
import { WebhookSecretCard } from './webhook-secret-card';

const WITH_LIBRARY = `import { Webhook } from 'standardwebhooks';

// Over the raw bytes of the body, before parsing them. Throws if the signature or the time is wrong.
const event = new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, request.headers);
if (await alreadySeen(request.headers['webhook-id'])) return response.writeHead(204).end();`;

const BY_HAND = `import { createHmac, timingSafeEqual } from 'node:crypto';

const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given = '' } = request.headers;
const key = Buffer.from(process.env.WEBHOOK_SECRET.slice('whsec_'.length), 'base64');
const expected = 'v1,' + createHmac('sha256', key).update(\`\${id}.\${time}.\`).update(rawBody).digest('base64');
const genuine = given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
if (!genuine || Math.abs(Date.now() / 1000 - Number(time)) > 300) return response.writeHead(401).end();`;

const IN_PYTHON = `from standardwebhooks.webhooks import Webhook

# Over the raw bytes of the body, before parsing them. Raises if the signature or the time is wrong.
event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(raw_body, request.headers)`;

/** The secret, and how a receiver verifies signatures with it. */
export function Signing() {
  const { may } = useOrganization();
  return (
    <div className="space-y-5">
      {may('admin') ? (
        <WebhookSecretCard />
      ) : (
        <Card title="Secret">
          <p className="text-muted">Owners and admins of the organization can reveal and rotate the secret.</p>
        </Card>
      )}
      <Card
        title="Verify a signature"
        description="Reject unsigned requests: the address of a receiver is not a secret."
      >
        <div className="space-y-4">
          <Sample title="TypeScript, with the library standardwebhooks" code={WITH_LIBRARY} />
          <Sample title="Python, with the library standardwebhooks" code={IN_PYTHON} />
          <Sample title="Node.js, by hand" code={BY_HAND} />
        </div>
        <ul className="mt-5 list-disc space-y-1 ps-5 text-muted">
          <li>Respond with any 2xx status within 15 seconds, and do the work afterwards.</li>
          <li>Events can arrive twice and out of order: discard a webhook-id that you have processed.</li>
          <li>
            A 410 ends the attempts for an event. After any other failure, there are up to eight attempts within about a
            day.
          </li>
        </ul>
      </Card>
    </div>
  );
}

function Sample({ title, code }: { readonly title: string; readonly code: string }) {
  return (
    <div>
      <h3 className="mb-1.5 font-medium">{title}</h3>
      <CodeBlock label={title} code={code} />
    </div>
  );
}
