import { useQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import type { Model } from '../../../contract/dashboard';
import { NoSuchPage } from '../../app/no-such-page';
import { useOrganization } from '../../app/use-session';
import { modelsQuery } from '../../api/models';
import { Amount } from '../../ui/amount';
import { Banner } from '../../ui/banner';
import { Empty } from '../../ui/empty';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { TabLink, TabList } from '../../ui/tabs';
import { ChatTab } from './chat-tab';
import { CodeSamples } from './code-button';
import { ImageTab } from './image-tab';
import { JobTab } from './job-tab';
import { isKind, KINDS, type Kind } from './kinds';
import { SpendingProvider, useSpending } from './playground-context';
import { SpeechTab } from './speech-tab';
import { sampleOf } from './sample-request';
import type { TabProps } from './tab';
import { TranscriptionTab } from './transcription-tab';

/** Tries models of every kind, with the cost of each answer. */
export function PlaygroundPage() {
  const { kind } = useParams({ from: '/signed-in/o/$org/playground/$kind' });
  if (!isKind(kind)) return <NoSuchPage />;
  return (
    <SpendingProvider>
      <Playground kind={kind} />
    </SpendingProvider>
  );
}

function Playground({ kind }: { readonly kind: Kind }) {
  const { id, may } = useOrganization();
  const models = useQuery(modelsQuery);
  return (
    <>
      <PageHeader title="Playground" description="Requests cost the same as through the API." actions={<Spent />} />
      <TabList label="Kinds of models">
        {KINDS.map(([name, label]) => (
          <TabLink key={name} to="/o/$org/playground/$kind" params={{ org: id, kind: name }}>
            {label}
          </TabLink>
        ))}
      </TabList>
      <QueryView query={models}>
        {(all) => {
          const [, label, modality] = KINDS.find(([name]) => name === kind) ?? KINDS[0];
          // The playground draws no masks.
          const offered = all.filter(({ modality: of, features }) => of === modality && features.needs_mask !== true);
          const [first] = offered;
          if (first === undefined) {
            return (
              <Empty title={`No model for ${label.toLowerCase()} is served`}>
                An operator of this service can enable one.
              </Empty>
            );
          }
          if (!may('developer')) return <ForViewers model={first} />;
          return <Tab key={kind} kind={kind} models={[first, ...offered.slice(1)]} />;
        }}
      </QueryView>
    </>
  );
}

function Tab({ kind, models }: { readonly kind: Kind; readonly models: TabProps['models'] }) {
  const { model: wanted } = useSearch({ from: '/signed-in/o/$org/playground/$kind' });
  const chosen = models.find(({ id }) => id === wanted)?.id;
  const props: TabProps = { models, chosen };
  switch (kind) {
    case 'chat':
      return <ChatTab {...props} />;
    case 'image':
      return <ImageTab {...props} />;
    case 'speech':
      return <SpeechTab {...props} />;
    case 'transcription':
      return <TranscriptionTab {...props} />;
    case 'video':
    case 'music':
      return <JobTab key={kind} kind={kind} {...props} />;
  }
}

function Spent() {
  const { spentMicro } = useSpending();
  return (
    <p className="text-muted">
      Spent on this page{' '}
      <span className="font-medium text-ink">
        <Amount micro={spentMicro} />
      </span>
    </p>
  );
}

function ForViewers({ model }: { readonly model: Model }) {
  return (
    <>
      <Banner title="Sending requests needs the role developer">This code sends one with an API key.</Banner>
      <CodeSamples request={sampleOf(model)} />
    </>
  );
}
