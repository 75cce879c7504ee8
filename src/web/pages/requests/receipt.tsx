import { Link } from '@tanstack/react-router';
import type { UsageReceipt } from '../../../contract/dashboard';
import { useKeyLabels } from '../../api/keys';
import { useOrganization } from '../../app/use-session';
import { countOf, formatCount, formatDuration } from '../../format/count';
import { formatMicro } from '../../format/money';
import { fallbackCalls, usedOf, usedTokens } from '../../format/receipt';
import { Amount } from '../../ui/amount';
import { Badge } from '../../ui/badge';
import { Card, Facts, Tile } from '../../ui/card';
import { Moment } from '../../ui/moment';
import { AttemptsCard } from './attempts-card';
import { CostCard } from './cost-card';
import { RequestStatus } from './request-status';

/** What one request cost, took and called; as wide as the place where it stands. */
export function Receipt({ receipt }: { readonly receipt: UsageReceipt }) {
  const [amount, unit] = usedOf(receipt);
  return (
    <div className="@container space-y-5">
      <div className="grid grid-cols-2 gap-3 @3xl:grid-cols-4 @3xl:gap-5">
        <Tile label="Cost" note={receipt.usage_estimated ? 'From estimated usage' : undefined}>
          <Amount micro={receipt.cost_micro} large />
        </Tile>
        <Tile label="Status" note={receipt.error_code ?? (receipt.status === 'success' ? 'success' : 'error')}>
          {receipt.http_status}
        </Tile>
        <Tile label="Total time" note={firstByteOf(receipt)}>
          {formatDuration(receipt.total_ms)}
        </Tile>
        <Tile label="Used" note={unit || receipt.modality}>
          {amount || 'Nothing'}
        </Tile>
      </div>
      <CostCard receipt={receipt} />
      <div className="grid items-start gap-5 @3xl:grid-cols-2">
        <DetailsCard receipt={receipt} />
        <AttemptsCard receipt={receipt} />
      </div>
    </div>
  );
}

/** Jobs have no first byte: their provider is asked until they end. */
function firstByteOf({ first_token_ms: ms, streamed, status }: UsageReceipt): string | undefined {
  if (ms === null) return status === 'success' ? undefined : 'No reply';
  return `First ${streamed ? 'token' : 'byte'} after ${formatDuration(ms)}`;
}

/** The deployment of the last call; a success after failed calls is a fallback. */
function Deployment({ receipt }: { readonly receipt: UsageReceipt }) {
  const failed = fallbackCalls(receipt);
  return (
    <span className="inline-flex flex-wrap items-center gap-2 wrap-anywhere">
      {receipt.attempts.at(-1)?.deployment_id}
      {failed > 0 && <Badge tone="warn">Fallback after {countOf(failed, 'failed call')}</Badge>}
    </span>
  );
}

function DetailsCard({ receipt }: { readonly receipt: UsageReceipt }) {
  const organization = useOrganization();
  const keyLabel = useKeyLabels(organization.id);
  const params = { org: organization.id };
  const { key_id: key, job_id: job } = receipt;
  const used: (readonly [string, string])[] = [
    ...usedTokens(receipt.tokens),
    ...(receipt.images > 0 ? ([['Images', formatCount(receipt.images)]] as [string, string][]) : []),
    ...(receipt.seconds > 0 ? ([['Length', `${formatCount(receipt.seconds)} s`]] as [string, string][]) : []),
    ...(receipt.characters > 0 ? ([['Characters', formatCount(receipt.characters)]] as [string, string][]) : []),
  ];
  return (
    <Card title="Details" description="Prompts and responses are not stored.">
      <Facts
        facts={[
          ['Ended', <Moment key="ended" time={receipt.created_at} zoned />],
          ['Status', <RequestStatus key="status" request={receipt} />],
          [
            'Model',
            <Link key="model" to="/o/$org/requests" params={params} search={{ model: receipt.model }} className="link">
              {receipt.model}
            </Link>,
          ],
          ['Provider', receipt.provider ?? 'none was called'],
          ['Deployment', receipt.attempts.length === 0 ? null : <Deployment key="deployment" receipt={receipt} />],
          [
            'API key',
            <Link key="key" to="/o/$org/keys/$key" params={{ ...params, key }} className="link">
              {keyLabel(key)}
            </Link>,
          ],
          [
            'Operation',
            <span key="operation" className="inline-flex flex-wrap items-center gap-2">
              {receipt.operation}
              {receipt.streamed && <Badge>streamed</Badge>}
            </span>,
          ],
          [
            'Job',
            job === null ? null : (
              <Link key="job" to="/o/$org/jobs/$job" params={{ ...params, job }} className="link break-all">
                {job}
              </Link>
            ),
          ],
          ...used,
          ['Initial hold', formatMicro(receipt.hold_micro)],
          ['Uncollected', receipt.uncollected_micro === 0 ? null : formatMicro(receipt.uncollected_micro)],
        ]}
      />
    </Card>
  );
}
