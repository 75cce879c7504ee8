import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Deployment, OperatorModel, PriceVersion } from '../../../contract/dashboard';
import { priceVersionsQuery, type ModelPath } from '../../api/operator';
import { countOf } from '../../format/count';
import { Badge } from '../../ui/badge';
import type { Tone } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { QueryView } from '../../ui/query-view';
import { EndPriceDialog, WithdrawPriceDialog } from './end-price-dialogs';
import { NewPriceDialog } from './new-price-dialog';
import { PriceAmounts } from './price-amounts';
import { isEndable, isWithdrawable, timelineOf, type PriceState, type TimelineEntry } from './price-timeline';
import { UtcTime } from './utc-time';
import { scopeName, SOURCES } from './words';

interface PricesCardProps {
  readonly model: OperatorModel;
  readonly path: ModelPath;
  readonly deployments: readonly Deployment[];
}

interface Opened {
  readonly kind: 'new' | 'withdraw' | 'end';
  readonly version?: PriceVersion;
}

/** The prices of a model and of its deployments on timelines, the future at the top. */
export function PricesCard({ model, path, deployments }: PricesCardProps) {
  const query = useQuery(priceVersionsQuery(path));
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  return (
    <Card
      title="Prices"
      description="Past charges never change. Prices set by operators override the catalogue files."
      actions={
        <Button small variant="primary" onClick={() => setOpened({ kind: 'new' })}>
          New price
        </Button>
      }
    >
      <QueryView query={query}>
        {(versions) => (
          <>
            <Scopes versions={versions} deployments={deployments} onOpen={setOpened} />
            {opened?.kind === 'new' && (
              <NewPriceDialog model={model} path={path} deployments={deployments} versions={versions} onClose={close} />
            )}
          </>
        )}
      </QueryView>
      {opened?.kind === 'withdraw' && opened.version && (
        <WithdrawPriceDialog path={path} version={opened.version} onClose={close} />
      )}
      {opened?.kind === 'end' && opened.version && (
        <EndPriceDialog path={path} version={opened.version} onClose={close} />
      )}
    </Card>
  );
}

interface ScopesProps {
  readonly versions: readonly PriceVersion[];
  readonly deployments: readonly Deployment[];
  readonly onOpen: (opened: Opened) => void;
}

function Scopes({ versions, deployments, onOpen }: ScopesProps) {
  if (versions.length === 0) {
    return (
      <Empty title="No price yet">
        A model without a price in force is not served. Add the first one with “New price”.
      </Empty>
    );
  }
  const ids = [...new Set(versions.map(({ deployment_id }) => deployment_id))].toSorted(
    (one, other) => Number(one !== null) - Number(other !== null),
  );
  return ids.map((id) => (
    <section key={id ?? ''} className="mt-4 first:mt-0">
      {(ids.length > 1 || id !== null) && <h3 className="mb-2 font-medium">{scopeName(id, deployments)}</h3>}
      <Timeline entries={timelineOf(versions, id)} onOpen={onOpen} />
    </section>
  ));
}

interface TimelineProps {
  readonly entries: readonly TimelineEntry[];
  readonly onOpen: (opened: Opened) => void;
}

const CURRENT: ReadonlySet<PriceState> = new Set(['planned', 'in force', 'overridden']);

function Timeline({ entries, onOpen }: TimelineProps) {
  const current = entries.filter(({ state }) => CURRENT.has(state));
  const past = entries.filter(({ state }) => !CURRENT.has(state));
  const items = (shown: readonly TimelineEntry[]) =>
    shown.map((entry) => <Entry key={entry.version.id} entry={entry} onOpen={onOpen} />);
  return (
    <>
      {!entries.some(({ state }) => state === 'in force') && (
        <p className="mb-2 text-warn">No price is in force now.</p>
      )}
      <ol>{items(current)}</ol>
      {past.length > 0 && (
        <details className="mt-2">
          <summary className="w-fit text-muted">{countOf(past.length, 'earlier version')}</summary>
          <ol className="mt-2">{items(past)}</ol>
        </details>
      )}
    </>
  );
}

const TONES: Readonly<Record<PriceState, Tone>> = {
  planned: 'accent',
  'in force': 'good',
  overridden: 'neutral',
  ended: 'neutral',
  withdrawn: 'warn',
  replaced: 'neutral',
};

interface EntryProps {
  readonly entry: TimelineEntry;
  readonly onOpen: (opened: Opened) => void;
}

function Entry({ entry, onOpen }: EntryProps) {
  const { version, state } = entry;
  return (
    <li className="relative border-s-2 ps-5 pb-5 last:pb-1">
      <span
        aria-hidden="true"
        className={`absolute -start-[7px] top-1 size-3 rounded-full border-2 border-surface ${state === 'in force' ? 'bg-good' : state === 'planned' ? 'bg-accent' : 'bg-edge'}`}
      />
      <div className="flex flex-wrap items-start justify-between gap-2">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">
            <UtcTime time={version.effective_from} />
          </span>
          {version.effective_to !== null && (
            <span className="text-muted">
              until <UtcTime time={version.effective_to} />
            </span>
          )}
          <Badge tone={TONES[state]}>{state}</Badge>
        </p>
        <div className="flex gap-2">
          {isWithdrawable(entry) && (
            <Button small onClick={() => onOpen({ kind: 'withdraw', version })}>
              Withdraw
            </Button>
          )}
          {isEndable(entry) && (
            <Button small onClick={() => onOpen({ kind: 'end', version })}>
              {state === 'planned' || version.effective_to !== null ? 'Set end' : 'End'}
            </Button>
          )}
        </div>
      </div>
      <div className="mt-1.5">{version.price !== null && <PriceAmounts price={version.price} />}</div>
      <p className="mt-1.5 wrap-anywhere text-muted">
        {version.source === 'operator' ? 'By an operator' : `From the ${SOURCES[version.source]}`}
        {version.reference !== null && `: ${version.reference}`}
      </p>
    </li>
  );
}
