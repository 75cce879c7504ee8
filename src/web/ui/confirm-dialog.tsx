import { useEffect, useRef, type ReactNode } from 'react';
import { ErrorText } from '../app/failure-view';
import { Banner } from './banner';
import { Button } from './button';
import { Dialog } from './dialog';

interface ConfirmDialogProps {
  /** Names the action and its object: `Revoke “production”?` */
  readonly title: string;
  /** The consequences. */
  readonly children: ReactNode;
  readonly confirm: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly pending: boolean;
  readonly error: Error | null;
}

/** Before an action that harms or cannot be undone. The focus is on Cancel. */
export function ConfirmDialog({ title, children, confirm, onConfirm, onClose, pending, error }: ConfirmDialogProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => cancel.current?.focus(), []);
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="mb-4">{children}</div>
      {error !== null && (
        <Banner tone="bad" role="alert">
          <ErrorText error={error} />
        </Banner>
      )}
      <div className="flex flex-wrap gap-2">
        <Button variant="danger" pending={pending} onClick={onConfirm}>
          {confirm}
        </Button>
        <Button ref={cancel} onClick={onClose}>
          Cancel
        </Button>
      </div>
    </Dialog>
  );
}
