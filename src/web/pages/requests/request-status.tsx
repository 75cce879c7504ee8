import { Fragment, type ReactNode } from 'react';
import type { UsageRequest } from '../../../contract/dashboard';
import { Badge } from '../../ui/badge';

type Outcome = Pick<UsageRequest, 'status' | 'http_status' | 'error_code'>;

const CLIENT_CLOSED = 499;

interface RequestStatusProps {
  readonly request: Outcome;
  /** Without the error code where there is little room. */
  readonly brief?: boolean;
}

/** A code that may continue on the next line after an underscore, so that it does not widen its column. */
function breakable(code: string): ReactNode {
  return code.split(/(?<=_)/).map((part, index) => (
    <Fragment key={`${index} ${part}`}>
      {part}
      <wbr />
    </Fragment>
  ));
}

/** How a request ended, with its error code. */
export function RequestStatus({ request, brief = false }: RequestStatusProps) {
  if (request.status === 'success') return <Badge tone="good">{request.http_status}</Badge>;
  const reason = request.error_code ?? (request.http_status === CLIENT_CLOSED ? 'client disconnected' : 'error');
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone="bad">{request.http_status}</Badge>
      <span className={`text-bad ${brief ? 'max-md:sr-only' : ''}`}>{breakable(reason)}</span>
    </span>
  );
}
