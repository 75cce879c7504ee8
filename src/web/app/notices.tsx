import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { useTopModal } from '../ui/use-modal';

const SHOWN_FOR_MS = 6000;

const NoticeContext = createContext<(text: string) => void>(() => undefined);

/** Says in a polite live region that something was done, for example `Key disabled`. */
export function useNotice(): (text: string) => void {
  return useContext(NoticeContext);
}

/** Draws the notice above the page, or inside the modal that covers the page. */
export function NoticeProvider({ children }: { readonly children: ReactNode }) {
  const [text, setText] = useState('');
  const modal = useTopModal();
  const timer = useRef<number>(undefined);
  const show = useCallback((next: string) => {
    window.clearTimeout(timer.current);
    setText(next);
    timer.current = window.setTimeout(() => setText(''), SHOWN_FOR_MS);
  }, []);
  return (
    <NoticeContext value={show}>
      {children}
      <NoticeArea text={modal === null ? text : ''} />
      {modal !== null && createPortal(<NoticeArea text={text} />, modal)}
    </NoticeContext>
  );
}

/** Stays while it is empty: screen readers announce a text only in an area that was there before. */
function NoticeArea({ text }: { readonly text: string }) {
  return (
    <output aria-live="polite" className="pointer-events-none fixed inset-x-0 bottom-6 z-50 flex justify-center px-4">
      {text !== '' && <span className="rounded-lg bg-ink px-4 py-2 font-medium text-canvas shadow-raised">{text}</span>}
    </output>
  );
}
