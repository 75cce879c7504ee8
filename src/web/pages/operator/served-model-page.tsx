import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { OperatorModel } from '../../../contract/dashboard';
import { deploymentsQuery, servedModelsQuery, type ModelPath } from '../../api/operator';
import { NoSuchPage } from '../../app/no-such-page';
import { formatDay } from '../../format/time';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card, Facts } from '../../ui/card';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { PageSkeleton } from '../../ui/skeleton';
import { ServedBadge } from './badges';
import { DeploymentsCard } from './deployments-card';
import { rateLimitFacts } from './limit-facts';
import { AvailabilityDialog, ModelLimitsDialog } from './model-dialogs';
import { PricesCard } from './prices-card';
import { decidedBy, reasonsInWords, SOURCES } from './words';

export function ServedModelPage() {
  const path = useParams({ from: '/signed-in/operator/models/$vendor/$name' });
  const query = useQuery(servedModelsQuery);
  return (
    <QueryView query={query} loading={<PageSkeleton />}>
      {(models) => {
        const model = models.find(({ id }) => id === `${path.vendor}/${path.name}`);
        return model === undefined ? <NoSuchPage object="model" /> : <Model model={model} path={path} />;
      }}
    </QueryView>
  );
}

interface ModelProps {
  readonly model: OperatorModel;
  readonly path: ModelPath;
}

function Model({ model, path }: ModelProps) {
  const [opened, setOpened] = useState<'availability' | 'limits'>();
  const deployments = useQuery(deploymentsQuery(model.id));
  const close = (): void => setOpened(undefined);
  return (
    <>
      <PageHeader
        title={
          <span className="inline-flex flex-wrap items-center gap-3">
            {model.id} <ServedBadge model={model} />
          </span>
        }
        description={model.name}
        actions={<Button onClick={() => setOpened('availability')}>Change availability</Button>}
      />
      {!model.served && (
        <Banner tone="warn" title="Clients cannot use this model">
          Reason: {reasonsInWords(model.not_served_because)}.
        </Banner>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Availability model={model} />
        <Limits model={model} onChange={() => setOpened('limits')} />
        <div className="min-w-0 space-y-4 lg:col-span-2">
          <DeploymentsCard model={model} query={deployments} />
          <PricesCard model={model} path={path} deployments={deployments.data ?? []} />
        </div>
      </div>
      {opened === 'availability' && <AvailabilityDialog model={model} path={path} onClose={close} />}
      {opened === 'limits' && <ModelLimitsDialog model={model} path={path} onClose={close} />}
    </>
  );
}

function Availability({ model }: { readonly model: OperatorModel }) {
  const { enabled, source, status, retires_on: retires, modality } = model;
  return (
    <Card title="Availability">
      <Facts
        facts={[
          ['Enabled', `${enabled ? 'yes' : 'no'}, by the ${decidedBy(model)}`],
          ['Catalogue', `${status}, from the ${SOURCES[source]}`],
          ['Retires', retires === null ? null : `${formatDay(retires)} (UTC)`],
          ['Modality', modality],
        ]}
      />
    </Card>
  );
}

function Limits({ model, onChange }: { readonly model: OperatorModel; readonly onChange: () => void }) {
  return (
    <Card
      title="Limits"
      description="For the whole platform."
      actions={
        <Button small onClick={onChange}>
          Set limits
        </Button>
      }
    >
      <Facts facts={rateLimitFacts(model)} />
    </Card>
  );
}
