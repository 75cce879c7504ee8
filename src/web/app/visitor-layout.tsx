import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Logo } from './logo';

/** A card in the middle of the page. */
export function VisitorFrame({ children }: { readonly children: ReactNode }) {
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 py-10 sm:py-20">
      <header className="mb-6 flex items-center gap-2 text-lg font-semibold">
        <Logo /> Gateway
      </header>
      <main id="main" tabIndex={-1} className="w-full max-w-md rounded-xl border bg-surface p-6 sm:p-8">
        {children}
      </main>
    </div>
  );
}

/** Pages for visitors who are not signed in. */
export function VisitorLayout() {
  return (
    <VisitorFrame>
      <Outlet />
    </VisitorFrame>
  );
}
