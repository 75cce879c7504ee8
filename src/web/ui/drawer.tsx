import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './button';
import { useModal } from './use-modal';

interface DrawerProps {
  readonly label: string;
  readonly head: ReactNode;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** Content over the start of the page, as high as the screen; mounted means open. */
export function Drawer({ label, head, children, onClose }: DrawerProps) {
  const ref = useModal();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events -- Escape and the button close it as well
    <dialog
      ref={ref}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={onClose}
      onClick={(event) => {
        // Only the backdrop is a click on the element itself.
        if (event.target === event.currentTarget) onClose();
      }}
      className="m-0 h-dvh max-h-none w-72 max-w-[85vw] overflow-y-auto border-e bg-surface p-0 text-ink shadow-raised"
    >
      <div className="flex h-14 items-center justify-between gap-2 ps-5 pe-3">
        {head}
        <Button variant="quiet" onClick={onClose} aria-label="Close">
          <X size={16} aria-hidden="true" />
        </Button>
      </div>
      {children}
    </dialog>
  );
}
