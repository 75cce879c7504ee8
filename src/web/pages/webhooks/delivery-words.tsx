import type { AttemptError, DeliveryState } from '../../../contract/dashboard';
import { Badge } from '../../ui/badge';
import type { Tone } from '../../ui/banner';

const TONES: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'accent',
  delivered: 'good',
  exhausted: 'bad',
  gone: 'warn',
  withdrawn: 'neutral',
};

export const STATE_IN_WORDS: Readonly<Record<DeliveryState, string>> = {
  pending: 'The next attempt is due or scheduled.',
  delivered: 'The receiver responded with a 2xx status.',
  exhausted: 'All eight attempts failed. Resend it once the receiver works.',
  gone: 'The receiver responded with 410, which ends the attempts for this event.',
  withdrawn: 'The job was deleted before the event arrived.',
};

const ERRORS: Readonly<Record<AttemptError, string>> = {
  rejected: 'not a 2xx status',
  gone: 'the receiver asked to stop',
  unreachable: 'no response',
  address_blocked: 'the host has no public address',
};

export function DeliveryStateBadge({ state }: { readonly state: DeliveryState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

interface OutcomeProps {
  readonly status: number | null;
  readonly error: AttemptError | null;
}

/** The answer of the receiver: its status, and what was wrong with it. */
export function Outcome({ status, error }: OutcomeProps) {
  if (status === null && error === null) return <span className="text-muted">none yet</span>;
  return (
    <span>
      {status !== null && <span className="font-mono">{status}</span>}
      {status !== null && error !== null && ' '}
      {error !== null && <span className="text-muted">{ERRORS[error]}</span>}
    </span>
  );
}
