import { Link } from '@tanstack/react-router';
import { ErrorText } from '../../app/failure-view';
import { useOrganization } from '../../app/use-session';
import { ApiError } from '../../api/errors';
import { Banner } from '../../ui/banner';
import type { ReplyFailure } from './chat-reply';
import { JsonButton } from './json-button';

/** A failed request, with its code, its id and the page that helps. */
export function RequestFailure({ error }: { readonly error: Error }) {
  const { id } = useOrganization();
  const status = error instanceof ApiError ? error.status : 0;
  const code = error instanceof ApiError ? error.code : undefined;
  return (
    <Banner tone="bad" role="alert" title={code}>
      <ErrorText error={error} />
      {error instanceof ApiError && error.requestId !== undefined && <JsonButton requestId={error.requestId} />}
      {status === 402 && (
        <p className="mt-1">
          <Link to="/o/$org/billing" params={{ org: id }} className="link">
            Balance and budgets
          </Link>
        </p>
      )}
      {status === 403 && (
        <p className="mt-1">
          <Link to="/o/$org/keys" params={{ org: id }} className="link">
            API keys and their rules
          </Link>
        </p>
      )}
    </Banner>
  );
}

/** The error of a stored reply. */
export function errorOf({ status, code, message, requestId, retryAfterSeconds }: ReplyFailure): ApiError {
  const detail = { code, message, request_id: requestId ?? undefined, retry_after: retryAfterSeconds ?? undefined };
  // The codes of a connection that broke are not in the contract's table.
  return new ApiError(status, detail as ConstructorParameters<typeof ApiError>[1], false);
}
