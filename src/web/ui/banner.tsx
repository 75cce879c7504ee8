import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad';

const TONES: Readonly<Record<Tone, string>> = {
  neutral: 'bg-sunken text-ink',
  accent: 'bg-accent-soft text-accent-strong',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};

interface BannerProps {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children?: ReactNode;
  /** `alert`: read out at once, for example the error of a form. */
  readonly role?: 'alert' | 'status';
}

/** A message across the page or card. */
export function Banner({ tone = 'neutral', title, children, role }: BannerProps) {
  return (
    <div role={role} className={`mb-4 rounded-lg px-4 py-3 wrap-anywhere ${TONES[tone]}`}>
      {title !== undefined && <p className="font-semibold">{title}</p>}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}
