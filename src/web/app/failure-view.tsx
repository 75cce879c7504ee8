import { useEffect, useState } from 'react';
import { isApiError } from '../api/errors';
import { formatDuration } from '../format/count';
import { Banner } from '../ui/banner';
import { Button } from '../ui/button';
import { CopyButton } from '../ui/copy-button';

/** The message of the API, counting down where it says when to try again, and the request id to copy. */
export function ErrorText({ error }: { readonly error: Error }) {
  if (!isApiError(error)) return error.message;
  const { requestId, retryAfterSeconds } = error;
  return (
    <>
      {retryAfterSeconds === undefined ? error.message : error.message.replace(/ Try again later\.$/, '')}
      {retryAfterSeconds !== undefined && <Countdown key={requestId} fromSeconds={retryAfterSeconds} />}
      {requestId !== undefined && (
        <span className="mt-1 flex items-center gap-1 text-xs">
          Request {requestId}
          <CopyButton text={requestId} object="request id" />
        </span>
      )}
    </>
  );
}

function Countdown({ fromSeconds }: { readonly fromSeconds: number }) {
  const [left, setLeft] = useState(fromSeconds);
  useEffect(() => {
    const timer = window.setInterval(() => setLeft((seconds) => Math.max(seconds - 1, 0)), 1000);
    return () => window.clearInterval(timer);
  }, []);
  return left > 0 ? ` Try again in ${formatDuration(left * 1000)}.` : ' You can try again now.';
}

interface FailureViewProps {
  readonly error: Error;
  readonly onRetry?: () => void;
}

/** In place of content that could not be loaded. */
export function FailureView({ error, onRetry }: FailureViewProps) {
  const missingChunk = /dynamically imported module|Importing a module script failed/.test(error.message);
  if (missingChunk) {
    return (
      <Banner tone="warn" role="alert" title="The dashboard was updated">
        <Button small onClick={() => window.location.reload()}>
          Load the new version
        </Button>
      </Banner>
    );
  }
  return (
    <Banner tone="bad" role="alert" title={titleOf(error)}>
      <ErrorText error={error} />
      {onRetry !== undefined && mayHelp(error) && (
        <div className="mt-2">
          <Button small onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </Banner>
  );
}

/** Whether the same request can succeed later: a refusal of the request itself stays one. */
function mayHelp(error: Error): boolean {
  return !isApiError(error) || error.shouldRetry || error.status >= 500 || error.status === 429;
}

function titleOf(error: Error): string {
  if (!isApiError(error)) return 'The page failed';
  switch (error.code) {
    case 'unreachable':
      return 'No connection';
    case 'not_found':
      return 'Not found';
    case 'forbidden':
      return 'Your role does not allow this';
    case 'rate_limited':
      return 'Too many requests';
    default:
      return error.status >= 500 ? 'Server error' : 'The request was refused';
  }
}
