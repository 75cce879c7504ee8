import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import type { ApiKey, UsageRequest } from '../../../contract/dashboard';
import { balanceQuery } from '../../api/billing';
import { useOrganization } from '../../app/use-session';
import { Amount } from '../../ui/amount';
import { Banner } from '../../ui/banner';
import { Button, ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { Check, LoaderCircle } from '../../ui/icons';
import { SampleCurl } from '../requests/sample-curl';

const TOTALS_LAG_MS = 1500;

/** From a new organization to its first request. */
export function FirstSteps({ keys }: { readonly keys: readonly ApiKey[] }) {
  const organization = useOrganization();
  const params = { org: organization.id };
  const key = keys.find(({ status }) => status === 'active');
  const mayCreate = organization.may('developer');
  return (
    <Card title="First steps" description="From an API key to your first request.">
      <NoCredit />
      <ol className="mt-3 space-y-6">
        <Step number={1} title="Create an API key" isDone={key !== undefined}>
          {key === undefined ? (
            <>
              <p className="mb-3 text-muted">It is shown once. Your program sends it with every request.</p>
              {mayCreate ? (
                <ButtonLink to="/o/$org/keys" params={params} variant="primary">
                  Create a key
                </ButtonLink>
              ) : (
                <Button variant="primary" disabled>
                  Create a key: needs developer
                </Button>
              )}
            </>
          ) : (
            <p className="text-muted">
              {key.name} …{key.last4} is ready.
            </p>
          )}
        </Step>
        <Step number={2} title="Send a request" isDone={false}>
          <p className="mb-3 text-muted">With the key in the variable KEY:</p>
          <SampleCurl />
        </Step>
        <Step number={3} title="See what it cost" isDone={false}>
          <p role="status" className="flex items-center gap-2 text-muted">
            {key !== undefined && <LoaderCircle size={16} aria-hidden="true" className="animate-spin" />}
            {key === undefined ? 'Its receipt will appear here.' : 'Waiting for your first request'}
          </p>
        </Step>
      </ol>
    </Card>
  );
}

/** Without credit every request is refused, whatever the key. */
function NoCredit() {
  const { id } = useOrganization();
  const balance = useQuery(balanceQuery(id)).data;
  if (balance === undefined || balance.available_micro > 0) return null;
  return (
    <div className="mt-3">
      <Banner tone="warn" title="No credit yet">
        Requests are refused until the organization has credit.{' '}
        <Link to="/o/$org/billing" params={{ org: id }} className="link">
          {balance.purchases.enabled ? 'Buy credit' : 'Billing'}
        </Link>
      </Banner>
    </div>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ number, title, isDone, children }: StepProps) {
  return (
    <li className="grid grid-cols-[auto_1fr] gap-x-4">
      <span
        className={`flex size-7 items-center justify-center rounded-full text-[0.8125rem] font-semibold ${isDone ? 'bg-good-soft text-good' : 'bg-accent-soft text-accent-strong'}`}
      >
        {isDone ? <Check size={16} aria-hidden="true" /> : number}
      </span>
      <div className="min-w-0">
        <h3 className="mb-1 pt-0.5 font-medium">
          {title}
          {isDone && <span className="sr-only"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}

/** Shown on the page that has waited for it. */
export function FirstRequest({ request }: { readonly request: UsageRequest }) {
  const { id } = useOrganization();
  const params = { org: id };
  const queries = useQueryClient();
  useEffect(() => {
    // Totals end with the last full second.
    const timer = window.setTimeout(() => {
      void queries.invalidateQueries({ queryKey: ['organization', id, 'usage'] });
      void queries.invalidateQueries({ queryKey: ['organization', id, 'billing'] });
    }, TOTALS_LAG_MS);
    return () => window.clearTimeout(timer);
  }, [queries, id]);
  return (
    <Card title="Your first request has arrived">
      <p role="status" className="mb-4">
        {request.model} answered with status {request.http_status} and cost <Amount micro={request.cost_micro} />.
      </p>
      <div className="flex flex-wrap gap-2">
        <ButtonLink
          variant="primary"
          to="/o/$org/requests/$request"
          params={{ ...params, request: request.request_id }}
        >
          See its receipt
        </ButtonLink>
        <ButtonLink to="/o/$org/playground/$kind" params={{ ...params, kind: 'chat' }}>
          Try models
        </ButtonLink>
        <ButtonLink to="/o/$org/keys" params={params}>
          Limit the key
        </ButtonLink>
        <ButtonLink to="/o/$org/members" params={params}>
          Invite people
        </ButtonLink>
      </div>
    </Card>
  );
}
