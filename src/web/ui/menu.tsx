import { Menu as BaseMenu } from '@base-ui/react/menu';
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';

interface MenuProps {
  readonly label: string;
  /** Content of the button that opens the menu. */
  readonly trigger: ReactNode;
  readonly children: ReactNode;
  readonly triggerClassName?: string;
}

export function Menu({ label, trigger, children, triggerClassName = '' }: MenuProps) {
  return (
    <BaseMenu.Root modal={false}>
      <BaseMenu.Trigger
        aria-label={label}
        className={`inline-flex min-h-9 items-center gap-2 rounded-lg px-2 hover:bg-sunken ${triggerClassName}`}
      >
        {trigger}
      </BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={6} align="start" className="z-40">
          <BaseMenu.Popup className="max-h-[70dvh] min-w-52 overflow-y-auto rounded-lg border bg-surface p-1 text-ink shadow-raised focus:outline-none">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

interface MenuItemProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly disabled?: boolean;
  /** Renders the item as this element, for example a link. */
  readonly render?: React.ReactElement;
}

export function MenuItem({ children, onClick, disabled, render }: MenuItemProps) {
  return (
    <BaseMenu.Item
      onClick={onClick}
      disabled={disabled}
      render={render}
      className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2.5 py-1.5 outline-none data-disabled:opacity-60 data-highlighted:bg-sunken"
    >
      {children}
    </BaseMenu.Item>
  );
}

interface MenuCheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** A choice that is on or off; the menu stays open for further ones. */
export function MenuCheckbox({ label, checked, onChange }: MenuCheckboxProps) {
  return (
    <BaseMenu.CheckboxItem
      checked={checked}
      onCheckedChange={onChange}
      className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2.5 py-1.5 outline-none data-highlighted:bg-sunken"
    >
      <span className="size-4 shrink-0">{checked && <Check size={16} aria-hidden="true" />}</span>
      {label}
    </BaseMenu.CheckboxItem>
  );
}

export function MenuSeparator() {
  return <BaseMenu.Separator className="my-1 border-t" />;
}
