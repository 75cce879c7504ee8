import type { ExplainedCheck, Explanation } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { Amount } from '../../ui/amount';
import { Banner } from '../../ui/banner';
import { BudgetMeter } from '../../ui/budget-meter';
import { ButtonLink } from '../../ui/button';
import { Card, Facts } from '../../ui/card';
import { CodeBlock } from '../../ui/code-block';
import { Check, Minus, X } from '../../ui/icons';
import { kindOf } from '../playground/kinds';
import { Candidates, LeftOut } from './deployments';
import { curlOf, OPERATION_FACTS } from './example-request';
import type { Question } from './question';
import { BUDGETS, CHECKS, OUTCOMES } from './explain-words';
import { LimitMeter } from './limit-meter';

interface ExplanationViewProps {
  readonly question: Question;
  readonly explanation: Explanation;
}

export function ExplanationView({ question, explanation }: ExplanationViewProps) {
  const { candidates, left_out } = explanation;
  return (
    <div className="min-w-0 space-y-5">
      <Verdict explanation={explanation} />
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title="Checks, in order">
          <ol className="space-y-2.5">
            {explanation.checks.map((check) => (
              <CheckLine key={check.check} check={check} />
            ))}
          </ol>
        </Card>
        <Card title="Estimate">
          <EstimateFacts explanation={explanation} />
        </Card>
      </div>
      <Candidates candidates={candidates} />
      {left_out.length > 0 && <LeftOut deployments={left_out} />}
      <LimitsAndBudgets explanation={explanation} />
      <Card title="Send it" actions={<TryIt question={question} explanation={explanation} />}>
        <CodeBlock label="curl command" code={curlOf(question.operation, question.body)} />
      </Card>
    </div>
  );
}

/** The playground with the model; embeddings have no tab there. */
function TryIt({ question: { operation }, explanation: { model } }: ExplanationViewProps) {
  const { id: org } = useOrganization();
  const kind = kindOf(OPERATION_FACTS[operation].modality);
  if (kind === undefined) return null;
  return (
    <ButtonLink small to="/o/$org/playground/$kind" params={{ org, kind }} search={model === null ? {} : { model }}>
      Try it in the playground
    </ButtonLink>
  );
}

function Verdict({
  explanation: { accepted, error, operation, model, candidates },
}: Omit<ExplanationViewProps, 'question'>) {
  const subject = `${OPERATION_FACTS[operation].label}${model === null ? '' : ` with ${model}`}`;
  if (accepted) {
    const [first] = candidates;
    return (
      <Banner tone="good" role="status" title="Would be accepted">
        {subject}
        {first !== undefined && `: ${first.provider} would be called first`}.
      </Banner>
    );
  }
  return (
    <Banner
      tone="bad"
      role="status"
      title={`Would be refused${error === null ? '' : ` with ${error.status} ${error.code}`}`}
    >
      {error === null ? `${subject}.` : error.message}
    </Banner>
  );
}

const MARKS = { passes: Check, refuses: X, not_reached: Minus } as const;
const MARK_TONES = {
  passes: 'bg-good-soft text-good',
  refuses: 'bg-bad-soft text-bad',
  not_reached: 'bg-sunken text-muted',
} as const;

function CheckLine({ check: { check, outcome, error } }: { readonly check: ExplainedCheck }) {
  const Mark = MARKS[outcome];
  return (
    <li className="flex gap-2.5">
      <span className={`flex size-5 shrink-0 items-center justify-center rounded-full ${MARK_TONES[outcome]}`}>
        <Mark size={13} aria-hidden="true" />
      </span>
      <div className="min-w-0 grow">
        <p className="flex flex-wrap justify-between gap-x-3">
          <span>{CHECKS[check]}</span>
          <span className={outcome === 'refuses' ? 'font-medium text-bad' : 'text-muted'}>{OUTCOMES[outcome]}</span>
        </p>
        {error !== null && (
          <p className="wrap-anywhere text-muted">
            <code className="font-mono text-[0.8125rem]">
              {error.status} {error.code}
            </code>{' '}
            {error.message}
          </p>
        )}
      </div>
    </li>
  );
}

function EstimateFacts({ explanation }: Omit<ExplanationViewProps, 'question'>) {
  const { hold_micro, estimated_cost_micro, estimated_tokens, client_ip, fallback_models } = explanation;
  return (
    <Facts
      facts={[
        ['Would be held', hold_micro === null ? 'unknown' : <Amount key="hold" micro={hold_micro} />],
        [
          'Estimated cost',
          estimated_cost_micro === null ? 'unknown' : <Amount key="cost" micro={estimated_cost_micro} />,
        ],
        ['Tokens for limits', estimated_tokens === null ? null : formatCount(estimated_tokens)],
        ['Fallback models', fallback_models.length === 0 ? null : fallback_models.join(', ')],
        ['Address', client_ip ?? 'not checked'],
      ]}
    />
  );
}

function LimitsAndBudgets({ explanation: { limits, budgets, hold_micro } }: Omit<ExplanationViewProps, 'question'>) {
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <Card title="Budgets" description="The hold of this request is the grey part.">
        <div className="space-y-4">
          {budgets.map(({ budget, used_micro, limit_micro }) => (
            <BudgetMeter
              key={budget}
              label={BUDGETS[budget]}
              spentMicro={used_micro}
              heldMicro={hold_micro ?? 0}
              limitMicro={limit_micro}
            />
          ))}
        </div>
      </Card>
      <Card title="Limits" description="Remaining before this request">
        {limits.length === 0 ? (
          <p className="text-muted">No limit applies to this request.</p>
        ) : (
          <div className="space-y-4">
            {limits.map((limit) => (
              <LimitMeter key={`${limit.scope} ${limit.kind}`} limit={limit} />
            ))}
          </div>
        )}
      </Card>
    </div>
  );
}
