import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useLayoutEffect, useRef, type RefObject } from 'react';
import { isApiError } from '../../api/errors';
import { receiptQuery } from '../../api/requests';
import { isTyping } from '../../app/shortcuts';
import { useOrganization } from '../../app/use-session';
import { Button, ButtonLink } from '../../ui/button';
import { CopyButton } from '../../ui/copy-button';
import { Empty } from '../../ui/empty';
import { Maximize2, X } from '../../ui/icons';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { ExplainLink } from './explain-link';
import { Receipt } from './receipt';

interface RequestPanelProps {
  readonly request: string;
  readonly onClose: () => void;
}

/**
 * The receipt of a row next to the list, over the end of the page, so that no row moves; on narrow screens over all of
 * it. Takes the focus, and gives it back to the row.
 */
export function RequestPanel({ request, onClose }: RequestPanelProps) {
  const { id: org } = useOrganization();
  const query = useQuery(receiptQuery(org, request));
  const panel = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const headingId = useId();
  usePanelFocus(panel, heading, request);
  useEscape(onClose);
  const id = query.data?.request_id ?? request;
  return (
    <section
      ref={panel}
      aria-labelledby={headingId}
      className="fixed end-0 top-14 bottom-0 z-10 w-full overflow-y-auto border-s bg-canvas shadow-raised xl:w-[34rem]"
    >
      <header className="sticky top-0 z-10 border-b bg-canvas px-5 py-3">
        <div className="flex flex-wrap items-center justify-between gap-2">
          <h2 id={headingId} ref={heading} tabIndex={-1} className="text-lg font-semibold focus-visible:outline-none">
            Receipt
          </h2>
          <div className="flex items-center gap-1">
            {query.data !== undefined && <ExplainLink receipt={query.data} small />}
            <ButtonLink small variant="quiet" to="/o/$org/requests/$request" params={{ org, request }}>
              <Maximize2 size={14} aria-hidden="true" /> Open page
            </ButtonLink>
            <Button small variant="quiet" aria-label="Close" onClick={onClose}>
              <X size={16} aria-hidden="true" />
            </Button>
          </div>
        </div>
        <p className="mt-1 flex items-center gap-2">
          <code className="font-mono text-[0.8125rem] break-all">{id}</code>
          <CopyButton text={id} object="request id" />
        </p>
      </header>
      <div className="p-5">
        {isApiError(query.error, 'not_found') ? (
          <Empty title="There is no such request">The address is wrong, or the receipt is past its retention.</Empty>
        ) : (
          <QueryView query={query} loading={<Skeleton className="h-96 w-full" />}>
            {(receipt) => <Receipt receipt={receipt} />}
          </QueryView>
        )}
      </div>
    </section>
  );
}

/** Each request that is shown takes the focus; when the panel goes away with it, the row of the last one gets it. */
function usePanelFocus(panel: RefObject<HTMLElement | null>, heading: RefObject<HTMLElement | null>, request: string) {
  const shown = useRef('');
  useEffect(() => {
    shown.current = request;
    heading.current?.focus({ preventScroll: true });
  }, [heading, request]);
  useLayoutEffect(
    () => () => {
      if (panel.current?.contains(document.activeElement) !== true) return;
      const rows = [...document.querySelectorAll<HTMLAnchorElement>('[data-row-link]')];
      rows.find(({ pathname }) => pathname.endsWith(`/${shown.current}`))?.focus({ preventScroll: true });
    },
    [panel],
  );
}

function useEscape(onEscape: () => void): void {
  const latest = useRef(onEscape);
  useEffect(() => {
    latest.current = onEscape;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented && !isTyping(event)) latest.current();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}
