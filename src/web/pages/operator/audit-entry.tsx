import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OperatorAuditActor, OperatorAuditEntry } from '../../../contract/dashboard';
import { formatMicro } from '../../format/money';
import { isTime } from '../../format/time';
import { Moment } from '../../ui/moment';
import { fieldChanges, type FieldChange } from '../people/audit-changes';
import { PAYMENT_EVENT, paymentChange } from '../people/payment-change';

/** `price.created` as words. */
export function actionInWords(action: string): string {
  const words = action.replaceAll('_', ' ').replace('.', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The change in words; the fields of a payment say what its event changed. */
export function changeInWords({ action, before, after }: OperatorAuditEntry): string {
  return action === PAYMENT_EVENT ? paymentChange(before, after).text : actionInWords(action);
}

const ACTOR_KINDS: Readonly<Record<OperatorAuditActor['kind'], string>> = {
  user: 'a deleted user',
  operator: 'a deleted operator',
  command: 'the command line',
  system: 'the gateway',
};

export function actorInWords({ kind, name, email }: OperatorAuditActor): string {
  return name ?? email ?? ACTOR_KINDS[kind];
}

/** One change: what, by whom, when, and the changed fields before and after. */
export function AuditEntry({ entry }: { readonly entry: OperatorAuditEntry }) {
  const { actor, address, target, created_at, organization_id: organization } = entry;
  const changes = fieldChanges(entry.before, entry.after);
  return (
    <li className="border-b px-4 py-3.5 last:border-0 sm:px-5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
        <p className="min-w-0">
          <span className="font-medium">{changeInWords(entry)}</span>{' '}
          <span className="wrap-anywhere text-muted">
            {target.type.replaceAll('_', ' ')} {target.id}
          </span>
        </p>
        <p className="text-muted">
          <Moment time={created_at} />
        </p>
      </div>
      <p className="mt-0.5 wrap-anywhere text-muted">
        by {actor.user_id === null ? actorInWords(actor) : <ActorLink actor={actor} organization={organization} />}
        {actor.email !== null && actor.name !== null && ` (${actor.email})`}
        {address !== null && ` from ${address}`}
        {organization !== null && (
          <>
            {' '}
            in{' '}
            <Link to="/operator/organizations/$org" params={{ org: organization }} className="link">
              the organization
            </Link>
          </>
        )}
      </p>
      {changes.length > 0 && (
        <details className="mt-2">
          <summary className="w-fit text-muted">
            Changed: {changes.map(({ field }) => fieldInWords(field)).join(', ')}
          </summary>
          <Changes changes={changes} />
        </details>
      )}
    </li>
  );
}

interface ActorLinkProps {
  readonly actor: OperatorAuditActor;
  readonly organization: string | null;
}

function ActorLink({ actor, organization }: ActorLinkProps) {
  return (
    <Link
      to="/operator/audit"
      search={{ actor: actor.user_id ?? undefined, organization: organization ?? undefined }}
      className="link"
    >
      {actorInWords(actor)}
    </Link>
  );
}

/** Amounts are shown in dollars. */
function fieldInWords(field: string): string {
  return field.replace(/_micro$/, '').replaceAll('_', ' ');
}

function textOf(field: string, value: unknown): ReactNode {
  if (value === null) return <span className="text-muted">–</span>;
  if (isTime(value)) return <Moment time={value} zoned />;
  if (field.endsWith('_micro') && typeof value === 'number') return formatMicro(value);
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

function Changes({ changes }: { readonly changes: readonly FieldChange[] }) {
  const head = 'pe-4 py-1 text-start font-medium text-muted';
  const cell = 'pe-4 py-1 align-top font-mono text-[0.8125rem] whitespace-pre-wrap wrap-anywhere';
  return (
    <table className="mt-2 w-full table-fixed border-collapse">
      <thead>
        <tr>
          <th className={head}>Field</th>
          <th className={head}>Before</th>
          <th className={head}>After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }) => (
          <tr key={field} className="border-t">
            <th scope="row" className="py-1 pe-4 text-start align-top font-normal wrap-anywhere">
              {fieldInWords(field)}
            </th>
            <td className={cell}>{textOf(field, before)}</td>
            <td className={cell}>{textOf(field, after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
