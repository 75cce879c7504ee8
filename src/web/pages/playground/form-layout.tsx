import type { ReactNode } from 'react';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';

interface FormLayoutProps {
  /** Fields of the request. */
  readonly children: ReactNode;
  readonly submit: string;
  readonly onSubmit: () => void;
  readonly pending: boolean;
  /** Whether something can be sent. */
  readonly ready: boolean;
  /** Buttons next to the submit button. */
  readonly actions?: ReactNode;
  /** Below the buttons, for example an estimate. */
  readonly note?: ReactNode;
  /** Answers, newest first. */
  readonly results: ReactNode;
}

/** A form beside its answers. */
export function FormLayout({ children, submit, onSubmit, pending, ready, actions, note, results }: FormLayoutProps) {
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[24rem_minmax(0,1fr)]">
      <Card>
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault();
            if (ready && !pending) onSubmit();
          }}
        >
          {children}
          <div className="flex flex-wrap gap-2">
            <Button type="submit" variant="primary" pending={pending} disabled={!ready}>
              {pending ? 'Working' : submit}
            </Button>
            {actions}
          </div>
          {note}
        </form>
      </Card>
      <div className="min-w-0 space-y-4" aria-live="polite" aria-busy={pending}>
        {pending && <Banner>The model is working.</Banner>}
        {results}
      </div>
    </div>
  );
}
