import { useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Dialog } from '../ui/dialog';
import { linkTo, type NavigationGroup } from './navigation';
import { preferences } from './preferences';

type Opened = 'palette' | 'shortcuts' | null;

const SEQUENCE_MS = 1500;

/** Keys of every page: Ctrl or Cmd K, `?`, `/`, `g` and a letter, and in lists `j`, `k`. */
export function useShortcuts(groups: readonly NavigationGroup[], organizationId: string | undefined) {
  const [opened, setOpened] = useState<Opened>(null);
  const goUntilMs = useRef(0);
  const navigate = useNavigate();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        // A page that is left takes its dialog along, and what that shows or asks for once.
        if (document.querySelector('dialog:modal') === null) setOpened('palette');
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || !preferences().singleKeyShortcuts)
        return;
      const isGo = event.timeStamp < goUntilMs.current;
      goUntilMs.current = 0;
      if (isGo) {
        const item = groups.flatMap(({ items }) => items).find(({ shortcut }) => shortcut === event.key);
        if (item !== undefined) void navigate(linkTo(item, organizationId));
      } else if (event.key === 'g') goUntilMs.current = event.timeStamp + SEQUENCE_MS;
      else if (event.key === '?') setOpened('shortcuts');
      else if (event.key === 'j' || event.key === 'k') focusRow(event.key === 'j' ? 1 : -1);
      else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('main input[type="search"]');
        if (search !== null) event.preventDefault();
        search?.focus();
      }
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [groups, organizationId, navigate]);
  const close = useCallback(() => setOpened(null), []);
  return { opened, open: setOpened, close };
}

/** In fields and dialogs, letters are text. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog, [contenteditable]') !== null;
}

/** Moves the focus among the links of the rows, in the displayed order. */
function focusRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
  const focused = links.findIndex((link) => link === document.activeElement);
  // From the row whose receipt is open, when the focus is in the receipt.
  const index = focused === -1 ? links.findIndex((link) => link.ariaCurrent === 'true') : focused;
  links[index === -1 ? (step === 1 ? 0 : links.length - 1) : index + step]?.focus();
}

interface ShortcutHelpProps {
  readonly groups: readonly NavigationGroup[];
  readonly onClose: () => void;
}

export function ShortcutHelp({ groups, onClose }: ShortcutHelpProps) {
  const general = [
    ['Ctrl K', 'Search pages and objects'],
    ['/', 'Search in a list'],
    ['j, k', 'Next and previous row'],
    ['Enter', 'Open the row'],
    ['Esc', 'Close the receipt next to the list'],
    ['?', 'This list'],
  ] as const;
  const pages = groups.flatMap(({ items }) => items.map(({ shortcut, label }) => [`g ${shortcut}`, label] as const));
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {[...general, ...pages].map(([keys, effect]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border bg-sunken px-1.5 font-mono text-xs">{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
