import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { listenForEndedSession, listenForRefusedAccess } from '../api/client';
import { currentUserQuery } from '../api/session';
import { preferences, setPreferences } from './preferences';

/** `ended`: a request found no session although a user had signed in; the page asks to sign in again. */
type SessionState = 'unknown' | 'signed-in' | 'ended';

/** What the tabs of a browser, which share one session, send each other. */
type TabMessage = 'signed-out' | { readonly signedIn: string };

const CHANNEL = 'dashboard-session';
const LOGIN = '/dashboard/login';
const HOME = '/dashboard/';

let state: SessionState = 'unknown';
let leaving = false;
const listeners = new Set<() => void>();
const channel = new BroadcastChannel(CHANNEL);

function setState(next: SessionState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useSessionState(): SessionState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

/** Whether the page asks to sign in again. */
export function isSessionEnded(): boolean {
  return state === 'ended';
}

/** Reacts to sessions that end during use, to other tabs, and to pages restored by the Back button. */
export function watchSession(queries: QueryClient): void {
  listenForEndedSession(() => {
    setPreferences({ signedIn: false });
    if (state === 'signed-in') setState('ended');
  });
  listenForRefusedAccess(() => void queries.invalidateQueries({ queryKey: currentUserQuery.queryKey }));
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    // The other tab may run another version of the pages: unknown messages have no effect.
    if (!isTabMessage(data)) return;
    if (data === 'signed-out') leave();
    else followSignIn(queries, data.signedIn);
  });
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    queries.clear();
    window.location.reload();
  });
}

export function sessionStarted(): void {
  if (!preferences().signedIn) setPreferences({ signedIn: true });
  setState('signed-in');
}

/** After a sign-in in this tab: the others continue, or show the new user. */
export function sessionStartedBy(userId: string): void {
  sessionStarted();
  send({ signedIn: userId });
}

/** After another user has signed in over the page of the first, of whom nothing may remain. */
export function sessionTakenOver(userId: string): void {
  send({ signedIn: userId });
  leave(HOME, true);
}

/** Another tab has signed a user in. What this one does next would be done as that user. */
function followSignIn(queries: QueryClient, userId: string): void {
  const shown = queries.getQueryData(currentUserQuery.queryKey)?.id;
  if (shown === undefined) return;
  if (shown !== userId) {
    leave(HOME, true);
  } else if (state === 'ended') {
    sessionStarted();
    void queries.invalidateQueries();
  }
}

function isTabMessage(data: unknown): data is TabMessage {
  if (data === 'signed-out') return true;
  return typeof data === 'object' && data !== null && 'signedIn' in data && typeof data.signedIn === 'string';
}

function send(message: TabMessage): void {
  channel.postMessage(message);
}

/** Forgets everything of the user, here and in the other tabs. @param next the address to open here. */
export function sessionEndedByUser(next = LOGIN): void {
  send('signed-out');
  leave(next);
}

/** Whether the user has signed out, after which no page may ask to stay and go on showing what it has. */
export function isLeaving(): boolean {
  return leaving;
}

/**
 * Loads a page anew, so that nothing of the user stays in memory.
 * @param signedIn whether another user is signed in by now
 */
function leave(next = LOGIN, signedIn = false): void {
  sessionStorage.clear();
  leaving = true;
  window.addEventListener('pagehide', () => {
    // What still runs may write until the page is gone.
    sessionStorage.clear();
    // A browser that keeps the page for its Back button has nothing to show.
    document.body.replaceChildren();
  });
  setPreferences({ signedIn });
  window.location.assign(next);
}
