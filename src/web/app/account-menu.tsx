import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client';
import { isApiError } from '../api/errors';
import type { CurrentUser } from '../api/session';
import { CircleUser, Keyboard, LogOut, SunMoon, UserRound } from '../ui/icons';
import { Menu, MenuItem, MenuSeparator } from '../ui/menu';
import { useNotice } from './notices';
import { currentTheme, setTheme, type Theme } from './preferences';
import { sessionEndedByUser } from './session-state';

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

interface AccountMenuProps {
  readonly user: CurrentUser;
  readonly onShowShortcuts: () => void;
}

export function AccountMenu({ user, onShowShortcuts }: AccountMenuProps) {
  const [theme, setShownTheme] = useState(currentTheme);
  const notice = useNotice();
  const switchTheme = (): void => {
    const next = NEXT_THEME[theme];
    setTheme(next);
    setShownTheme(next);
  };
  const signOut = async (): Promise<void> => {
    try {
      await unwrap(api.POST('/dashboard/api/logout'));
    } catch (error) {
      // Without a session the user is signed out already.
      if (!isApiError(error, 'unauthenticated')) {
        notice(`Not signed out: ${(error as Error).message}`);
        return;
      }
    }
    sessionEndedByUser();
  };
  return (
    <Menu label={`Account: ${user.email}`} trigger={<CircleUser size={20} aria-hidden="true" />}>
      <div className="px-2.5 py-1.5">
        <p className="font-medium">{user.name}</p>
        <p className="text-muted">{user.email}</p>
      </div>
      <MenuSeparator />
      <MenuItem render={<Link to="/account" />}>
        <UserRound size={14} aria-hidden="true" /> Account
      </MenuItem>
      <MenuItem onClick={switchTheme}>
        <SunMoon size={14} aria-hidden="true" /> Theme: {theme}
      </MenuItem>
      <MenuItem onClick={onShowShortcuts}>
        <Keyboard size={14} aria-hidden="true" /> Keyboard shortcuts
      </MenuItem>
      <MenuSeparator />
      <MenuItem onClick={() => void signOut()}>
        <LogOut size={14} aria-hidden="true" /> Sign out
      </MenuItem>
    </Menu>
  );
}
