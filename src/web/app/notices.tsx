import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from 'react';

const SHOWN_FOR_MS = 6000;

const NoticeContext = createContext<(text: string) => void>(() => undefined);

/** Says in a polite live region that something was done, for example `Key disabled`. */
export function useNotice(): (text: string) => void {
  return useContext(NoticeContext);
}

export function NoticeProvider({ children }: { readonly children: ReactNode }) {
  const [text, setText] = useState('');
  const timer = useRef<number>(undefined);
  const show = useCallback((next: string) => {
    window.clearTimeout(timer.current);
    setText(next);
    timer.current = window.setTimeout(() => setText(''), SHOWN_FOR_MS);
  }, []);
  return (
    <NoticeContext value={show}>
      {children}
      <output aria-live="polite" className="pointer-events-none fixed inset-x-0 bottom-6 z-50 flex justify-center px-4">
        {text !== '' && (
          <span className="rounded-lg bg-ink px-4 py-2 font-medium text-canvas shadow-raised">{text}</span>
        )}
      </output>
    </NoticeContext>
  );
}
