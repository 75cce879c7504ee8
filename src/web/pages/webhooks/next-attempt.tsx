import { useEffect, useState } from 'react';
import { formatDuration } from '../../format/count';
import { Moment } from '../../ui/moment';

/** The time of the next attempt, counted down. */
export function NextAttempt({ time }: { readonly time: string }) {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNowMs(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, []);
  const leftMs = Date.parse(time) - nowMs;
  if (leftMs <= 0) return 'now';
  return (
    <>
      <Moment time={time} />, in {formatDuration(Math.ceil(leftMs / 1000) * 1000)}
    </>
  );
}
