import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, MouseEvent, MouseEventHandler, Ref } from 'react';

type Variant = 'primary' | 'secondary' | 'quiet' | 'danger';

const BASE =
  'inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg px-3 py-1.5 font-medium whitespace-nowrap ' +
  'disabled:cursor-not-allowed disabled:opacity-60 aria-disabled:cursor-not-allowed aria-disabled:opacity-60';

const VARIANTS: Readonly<Record<Variant, string>> = {
  primary: 'bg-accent text-on-accent not-disabled:hover:bg-accent-strong',
  secondary: 'border border-edge bg-surface text-ink not-disabled:hover:bg-sunken',
  quiet: 'text-ink not-disabled:hover:bg-sunken',
  danger: 'bg-bad text-on-bad not-disabled:hover:opacity-90',
};

function classesOf(variant: Variant, small: boolean, extra = ''): string {
  return `${BASE} ${VARIANTS[variant]} ${small ? 'min-h-7! px-2! py-0.5! text-[0.8125rem]' : ''} ${extra}`;
}

interface Look {
  readonly variant?: Variant;
  readonly small?: boolean;
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  /**
   * For a button that changes something: whether the change runs. Further clicks are ignored then, and so is the second
   * one of a double click after it, which may meet another row.
   */
  readonly pending?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function Button({ variant = 'secondary', small = false, pending, className, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={pending || rest['aria-disabled']}
      aria-busy={pending || undefined}
      onClick={pending === undefined ? onClick : (event) => clickOnce(event, pending, onClick)}
      className={classesOf(variant, small, className)}
    />
  );
}

function clickOnce(
  event: MouseEvent<HTMLButtonElement>,
  pending: boolean,
  onClick: MouseEventHandler<HTMLButtonElement> | undefined,
): void {
  // Without the default, a submit button does not submit its form.
  if (pending || event.detail > 1) event.preventDefault();
  else onClick?.(event);
}

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement>, Look {
  readonly ref?: Ref<HTMLAnchorElement>;
}

/** A plain link that looks like a button, for example a download. */
export function ButtonAnchor({ variant = 'secondary', small = false, className, children, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={classesOf(variant, small, className)}>
      {children}
    </a>
  );
}

/** A link to another page that looks like a button. */
export const ButtonLink = createLink(ButtonAnchor);
