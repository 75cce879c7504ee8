import type { UseQueryResult } from '@tanstack/react-query';
import type { LedgerAudit } from '../../../contract/dashboard';
import { countOf, formatCount } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Banner, type Tone } from '../../ui/banner';
import { Tile } from '../../ui/card';
import { Ago } from '../../ui/moment';
import { Skeleton } from '../../ui/skeleton';

const STATES: Readonly<Record<LedgerAudit['state'], readonly [word: string, tone: Tone]>> = {
  ok: ['consistent', 'good'],
  failed: ['inconsistent', 'bad'],
  stale: ['not checked recently', 'warn'],
  unknown: ['not checked yet', 'neutral'],
};

/** The audit counts up to this many violations of a day. A lower count is exact, and any other a lower bound. */
const COUNTED_OF_A_DAY = 20;

export function LedgerAuditTile({ query: { data, error } }: { readonly query: UseQueryResult<LedgerAudit> }) {
  if (data === undefined) {
    return (
      <Tile label="Ledger">
        {error === null ? <Skeleton className="h-8 w-24" /> : <span className="text-base text-bad">Not loaded</span>}
      </Tile>
    );
  }
  const [word, tone] = STATES[data.state];
  return (
    <Tile
      label="Ledger"
      note={
        <>
          Checked <Ago time={data.completed_at} />
        </>
      }
    >
      <Badge tone={tone}>{word}</Badge>
    </Tile>
  );
}

/** The violations that the audit found, if any. */
export function LedgerViolations({ audit }: { readonly audit: LedgerAudit }) {
  const { state, violations, violation_count: count, failure } = audit;
  if (state === 'stale') {
    return (
      <Banner tone="warn" title="The ledger was not checked recently">
        {failure ?? 'The last audit is overdue.'}
      </Banner>
    );
  }
  if (state !== 'failed') return null;
  return (
    <Banner tone="bad" title={`The ledger has ${violationsInWords(count ?? violations.length)}`}>
      <ul className="list-disc ps-5">
        {violations.map(({ invariant, subject }) => (
          <li key={`${invariant} ${subject}`}>
            {invariant}: {subject}
          </li>
        ))}
      </ul>
      <p>
        <code className="font-mono">gateway ledger verify</code> lists up to 1,000 of each check.
      </p>
    </Banner>
  );
}

function violationsInWords(count: number): string {
  return count < COUNTED_OF_A_DAY ? countOf(count, 'violation') : `${formatCount(count)} or more violations`;
}
