import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { formatMicro } from '../../format/money';
import { sentenceAt } from '../../format/sentences';
import type { Turn } from './use-chat';

const SENTENCE_EVERY_MS = 2000;

interface SpokenAnswerProps {
  /** The last turn; undefined before the first one. */
  readonly turn: Turn | undefined;
  readonly running: boolean;
}

/**
 * Reads an answer out while it grows: at most one sentence in two seconds, in order, then its end. Of several models
 * only the end, as they answer at the same time.
 */
export function SpokenAnswer({ turn, running }: SpokenAnswerProps) {
  const [spoken, setSpoken] = useState('');
  const latest = useRef(turn);
  // Before the cleanup below, which reads the turn that has ended.
  useLayoutEffect(() => {
    latest.current = turn;
  });
  useEffect(() => {
    if (!running) return undefined;
    let end = 0;
    // Of two equal texts in a row, the second would not be read out.
    const reset = window.setTimeout(() => setSpoken(''));
    const timer = window.setInterval(() => {
      const replies = Object.values(latest.current?.replies ?? {});
      const next = replies.length === 1 ? sentenceAt(replies[0]?.text ?? '', end) : null;
      if (next === null) return;
      ({ end } = next);
      setSpoken(next.sentence);
    }, SENTENCE_EVERY_MS);
    return () => {
      window.clearTimeout(reset);
      window.clearInterval(timer);
      setSpoken(endOf(latest.current));
    };
  }, [running]);
  return (
    <p aria-live="polite" className="sr-only">
      {spoken}
    </p>
  );
}

/** Failures are alerts of their own. */
function endOf(turn: Turn | undefined): string {
  const replies = Object.values(turn?.replies ?? {});
  if (replies.some(({ state }) => state === 'failed')) return '';
  const costs = replies.map(({ costMicro }) => (costMicro === null ? 'unknown cost' : formatMicro(costMicro)));
  const isStopped = replies.some(({ state }) => state === 'stopped');
  return `${isStopped ? 'Stopped' : replies.length === 1 ? 'Answer complete' : 'All answers complete'}: ${costs.join(', ')}`;
}
