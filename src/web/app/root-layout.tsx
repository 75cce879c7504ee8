import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useMatches } from '@tanstack/react-router';
import { useEffect } from 'react';
import { currentUserQuery, membershipOf } from '../api/session';
import { OfflineNotice } from './offline-notice';

/** Keeps the title of the document: `<page> · <organization> · Gateway`. */
export function RootLayout() {
  const matches = useMatches();
  const queries = useQueryClient();
  const match = matches.at(-1);
  // Every page has a title; what matches a layout only is no page.
  const title = match?.staticData.title ?? 'No such page';
  const { org: organizationId } = (match?.params ?? {}) as { readonly org?: string };
  useEffect(() => {
    const user = queries.getQueryData(currentUserQuery.queryKey);
    const organization =
      user === undefined || organizationId === undefined ? undefined : membershipOf(user, organizationId)?.name;
    document.title = [title, organization, 'Gateway'].filter((part) => part !== undefined).join(' · ');
  }, [title, organizationId, queries]);
  return (
    <>
      <a
        href="#main"
        className="fixed start-2 top-2 z-50 -translate-y-20 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:translate-y-0"
      >
        Skip to the content
      </a>
      <OfflineNotice />
      <Outlet />
    </>
  );
}
