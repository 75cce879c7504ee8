import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { UserSession } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { ErrorText } from '../../app/failure-view';
import { useNotice } from '../../app/notices';
import { describeUserAgent } from '../../format/user-agent';
import { Badge } from '../../ui/badge';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { DataTable, type Column } from '../../ui/data-table';
import { Ago } from '../../ui/moment';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';

const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/sessions', { signal })),
});

const COLUMNS: ReadonlyArray<Column<UserSession>> = [
  {
    id: 'browser',
    head: 'Browser',
    cell: ({ user_agent: agent, is_current: isCurrent }) => (
      <span className="flex flex-wrap items-center gap-2">
        <span className="max-w-64 truncate" title={agent ?? undefined}>
          {describeUserAgent(agent)}
        </span>
        {isCurrent && <Badge tone="good">This session</Badge>}
      </span>
    ),
  },
  { id: 'address', head: 'IP address', priority: 'middle', cell: ({ address }) => address ?? 'unknown' },
  { id: 'created', head: 'Signed in', priority: 'low', cell: ({ created_at: time }) => <Ago time={time} /> },
  { id: 'seen', head: 'Last seen', cell: ({ last_seen_at: time }) => <Ago time={time} /> },
];

function endColumn(pending: boolean, onEnd: (session: UserSession) => void): Column<UserSession> {
  return {
    id: 'actions',
    head: <span className="sr-only">Actions</span>,
    end: true,
    cell: (session) =>
      !session.is_current && (
        <Button small pending={pending} onClick={() => onEnd(session)}>
          End<span className="sr-only"> session of {describeUserAgent(session.user_agent)}</span>
        </Button>
      ),
  };
}

/** Where the user is signed in. */
export function SessionsCard() {
  const query = useQuery(sessionsQuery);
  const notice = useNotice();
  const [isEndingAll, setEndingAll] = useState(false);
  const end = useChange({
    change: endSession,
    invalidates: [sessionsQuery.queryKey],
    onDone: () => notice('Session ended'),
  });
  const others = query.data?.data.filter(({ is_current: isCurrent }) => !isCurrent) ?? [];
  return (
    <Card
      flush
      className="mt-4"
      title="Sessions"
      description="Where you are signed in. If you do not recognize a session, end it and change your password."
      actions={others.length > 0 && <Button onClick={() => setEndingAll(true)}>End all others</Button>}
    >
      {end.error !== null && (
        <div className="px-4 sm:px-5">
          <Banner tone="bad" role="alert">
            <ErrorText error={end.error} />
          </Banner>
        </div>
      )}
      <QueryView query={query}>
        {({ data }) => (
          <DataTable
            label="Sessions"
            columns={[...COLUMNS, endColumn(end.pending, end.run)]}
            rows={data}
            rowKey={({ id }) => id}
          />
        )}
      </QueryView>
      {isEndingAll && <EndOthersDialog sessions={others} onClose={() => setEndingAll(false)} />}
    </Card>
  );
}

async function endSession({ id }: UserSession): Promise<void> {
  await unwrap(api.DELETE('/dashboard/api/sessions/{session_id}', { params: { path: { session_id: id } } }));
}

interface EndOthersDialogProps {
  readonly sessions: readonly UserSession[];
  readonly onClose: () => void;
}

function EndOthersDialog({ sessions, onClose }: EndOthersDialogProps) {
  const notice = useNotice();
  const end = useChange({
    change: () => Promise.all(sessions.map(endSession)),
    invalidates: [sessionsQuery.queryKey],
    onDone: () => {
      notice('All other sessions ended');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title="End all other sessions?"
      confirm="End other sessions"
      onConfirm={() => end.run(undefined)}
      onClose={onClose}
      pending={end.pending}
      error={end.error}
    >
      All other browsers have to sign in again. This one stays signed in.
    </ConfirmDialog>
  );
}
