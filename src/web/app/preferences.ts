import { useSyncExternalStore } from 'react';
import type { TimeZone } from '../format/time';

/** What a browser remembers. None of it is secret or grants anything. */
interface Preferences {
  readonly timeZone: TimeZone;
  readonly dense: boolean;
  readonly singleKeyShortcuts: boolean;
  readonly lastOrganizationId: string | null;
  /** Columns of the list of requests, by user; absent: the usual ones. */
  readonly requestColumns: Readonly<Record<string, readonly string[]>>;
  /** Whether a user was signed in when the browser last saw a reply, so that `/login` need not begin with a 401. */
  readonly signedIn: boolean;
}

export type Theme = 'system' | 'light' | 'dark';

const STORAGE_KEY = 'dashboard';
const THEME_MAX_AGE_SECONDS = 31_536_000;
const DEFAULTS: Preferences = {
  timeZone: 'local',
  dense: false,
  singleKeyShortcuts: true,
  lastOrganizationId: null,
  requestColumns: {},
  signedIn: false,
};

let current = load();
const listeners = new Set<() => void>();

export function preferences(): Preferences {
  return current;
}

export function setPreferences(changes: Partial<Preferences>): void {
  current = { ...current, ...changes };
  localStorage.setItem(STORAGE_KEY, JSON.stringify(current));
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function load(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}') as Partial<Preferences>) };
  } catch {
    return DEFAULTS;
  }
}

/** The theme is in a cookie: the server writes it into the page, so that nothing flashes. */
export function currentTheme(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const age = theme === 'system' ? 0 : THEME_MAX_AGE_SECONDS;
  document.cookie = `theme=${theme}; path=/dashboard; max-age=${age}; samesite=lax`;
}
