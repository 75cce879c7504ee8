import { Link } from '@tanstack/react-router';
import { useOrganization } from '../../app/use-session';
import { countOf, formatDuration } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Badge } from '../../ui/badge';
import { JsonButton } from './json-button';

interface ReceiptLineProps {
  readonly costMicro: number | null;
  readonly requestId: string | null;
  readonly totalMs?: number | null;
  /** Further facts, for example `12 tokens in`. */
  readonly facts?: readonly string[];
  /** How many calls failed before another deployment answered. */
  readonly fallbackCalls?: number;
}

/** Below an answer: what it cost and took, with its receipt. */
export function ReceiptLine({ costMicro, requestId, totalMs = null, facts = [], fallbackCalls = 0 }: ReceiptLineProps) {
  const { id } = useOrganization();
  const parts = [...facts, ...(totalMs === null ? [] : [`${formatDuration(totalMs)} in total`])];
  return (
    <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
      {costMicro !== null && (
        <span className="font-medium text-ink">
          <Amount micro={costMicro} />
        </span>
      )}
      {parts.map((part) => (
        <span key={part}>{part}</span>
      ))}
      {fallbackCalls > 0 && <Badge tone="warn">Fallback after {countOf(fallbackCalls, 'failed call')}</Badge>}
      {requestId !== null && requestId !== '' && (
        <Link to="/o/$org/requests/$request" params={{ org: id, request: requestId }} className="link">
          Receipt
        </Link>
      )}
      {requestId !== null && <JsonButton requestId={requestId} />}
    </div>
  );
}
