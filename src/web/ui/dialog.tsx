import { X } from 'lucide-react';
import { useId, type ReactNode } from 'react';
import { Button } from './button';
import { useModal } from './use-modal';

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** Without a way to close it, for example to sign in again, or around a secret that is shown once. */
  readonly modalOnly?: boolean;
}

/** A modal dialog; mounted means open. Closes with Escape. */
export function Dialog({ title, children, onClose, wide = false, modalOnly = false }: DialogProps) {
  const ref = useModal(fieldToFill);
  const id = useId();
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!modalOnly) onClose();
      }}
      onClose={() => {
        // A second Escape closes the element without asking.
        if (ref.current?.open !== false) return;
        if (modalOnly) ref.current.showModal();
        else onClose();
      }}
      className={`m-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] ${wide ? 'max-w-3xl' : 'max-w-lg'} overflow-y-auto rounded-xl border bg-surface p-0 text-ink shadow-raised`}
    >
      <div className="flex items-start justify-between gap-4 px-5 pt-4 pb-2 sm:px-6">
        <h2 id={id} className="text-lg font-semibold wrap-anywhere">
          {title}
        </h2>
        {!modalOnly && (
          <Button variant="quiet" small onClick={onClose} aria-label="Close">
            <X size={16} aria-hidden="true" />
          </Button>
        )}
      </div>
      <div className="px-5 pb-5 sm:px-6">{children}</div>
    </dialog>
  );
}

/** The first required field without a value, else the first field; none in a dialog without a form. */
function fieldToFill(dialog: HTMLDialogElement): HTMLElement | undefined {
  const selector = 'input:not([type="hidden"]), select, textarea';
  const fields = [...dialog.querySelectorAll<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>(selector)];
  return fields.find(({ required, value }) => required && value === '') ?? fields[0];
}
