import type { ApiKey, ApiKeyStatus } from '../../../contract/dashboard';
import { Badge } from '../../ui/badge';
import type { Tone } from '../../ui/banner';
import { Ago } from '../../ui/moment';

const STATES: Readonly<Record<ApiKeyStatus, readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  disabled: ['neutral', 'Disabled'],
  expired: ['warn', 'Expired'],
  revoked: ['bad', 'Revoked'],
};

/** Whether the key was replaced and still works for a while. */
export function isInGracePeriod({ status, revoked_at: revokedAt }: ApiKey): boolean {
  return revokedAt !== null && status !== 'revoked';
}

export function KeyBadge({ apiKey }: { readonly apiKey: ApiKey }) {
  if (isInGracePeriod(apiKey)) {
    return (
      <Badge tone="warn">
        <span>
          Replaced, ends <Ago time={apiKey.revoked_at} />
        </span>
      </Badge>
    );
  }
  const [tone, word] = STATES[apiKey.status];
  return <Badge tone={tone}>{word}</Badge>;
}

/** The ends of the key, by which its owner recognizes it. */
export function KeyEnds({ apiKey }: { readonly apiKey: ApiKey }) {
  return (
    <span className="font-mono text-[0.8125rem] whitespace-nowrap text-muted">
      {apiKey.prefix}…{apiKey.last4}
    </span>
  );
}
