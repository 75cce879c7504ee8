import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { api, unwrap } from '../../api/client';
import { allLiveKeysQuery } from '../../api/keys';
import { modelsQuery } from '../../api/models';
import { useOrganization } from '../../app/use-session';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';
import { ExplainForm } from './explain-form';
import type { Question } from './question';
import { ExplanationView } from './explanation-view';

/** What would happen to a request, and why, without sending it. */
export function ExplainPage() {
  const { id } = useOrganization();
  const { key } = useSearch({ from: '/signed-in/o/$org/explain' });
  const keys = useQuery(allLiveKeysQuery(id));
  const models = useQuery(modelsQuery);
  const explain = useChange({
    change: async (question: Question) => ({ question, explanation: await explained(question) }),
  });
  return (
    <>
      <PageHeader
        title="Explain"
        description="See which checks a request would pass, which provider would serve it and how much it would hold. Nothing is sent, charged or counted."
      />
      <QueryView query={keys}>
        {(choices) =>
          choices.length === 0 ? (
            <Card>
              <Empty title="No API key yet">
                <p className="mb-3">A request is checked against the rules of its key.</p>
                <ButtonLink to="/o/$org/keys" params={{ org: id }} variant="primary">
                  Create a key
                </ButtonLink>
              </Empty>
            </Card>
          ) : (
            <div className="grid items-start gap-5 xl:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]">
              <QueryView query={models}>
                {(served) => (
                  <ExplainForm
                    keys={choices}
                    firstKey={choices.find((each) => each.id === key)?.id}
                    models={served}
                    pending={explain.pending}
                    error={explain.error}
                    onSubmit={explain.run}
                  />
                )}
              </QueryView>
              {explain.result === undefined ? <NothingYet /> : <ExplanationView {...explain.result} />}
            </div>
          )
        }
      </QueryView>
    </>
  );
}

/** The body goes out as typed: parsing it here would round long numbers. */
function explained({ keyId, operation, body, clientIp }: Question) {
  const request: Record<string, unknown> = {};
  const call = { key_id: keyId, operation, client_ip: clientIp === '' ? null : clientIp, request };
  return unwrap(
    api.POST('/dashboard/api/explain', {
      body: call,
      bodySerializer: ({ request: _request, ...fields }) => `${JSON.stringify(fields).slice(0, -1)},"request":${body}}`,
    }),
  );
}

function NothingYet() {
  return (
    <Card>
      <Empty title="What would happen to this request?">
        Choose a key and an operation, paste the body of a request, and see which limit would refuse it, which provider
        would serve it and what it would cost.
      </Empty>
    </Card>
  );
}
