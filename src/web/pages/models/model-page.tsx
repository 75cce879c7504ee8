import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Model } from '../../../contract/dashboard';
import { modelsQuery } from '../../api/models';
import { NoSuchPage } from '../../app/no-such-page';
import { useOrganization } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { priceLines, priceTiers, type PriceLine } from '../../format/model-price';
import { Amount } from '../../ui/amount';
import { ButtonLink } from '../../ui/button';
import { Card, Facts } from '../../ui/card';
import { CopyButton } from '../../ui/copy-button';
import { DataTable, type Column } from '../../ui/data-table';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { CodeSamples } from '../playground/code-button';
import { kindOf } from '../playground/kinds';
import { UsageSummary } from '../usage/usage-summary';
import { sampleOf } from '../playground/sample-request';
import { featureWords } from './model-words';

const PRICE_COLUMNS: ReadonlyArray<Column<PriceLine>> = [
  { id: 'label', head: 'Charged for', cell: ({ label }) => label },
  { id: 'unit', head: 'Per', cell: ({ unit }) => unit },
  { id: 'price', head: 'Price', end: true, cell: ({ micro }) => <Amount micro={micro} /> },
];

/** A model with its prices and code to call it. */
export function ModelPage() {
  const { vendor, name } = useParams({ from: '/signed-in/o/$org/models/$vendor/$name' });
  const models = useQuery(modelsQuery);
  return (
    <QueryView query={models}>
      {(all) => {
        const model = all.find(({ id }) => id === `${vendor}/${name}`);
        return model === undefined ? <NoSuchPage object="model" /> : <ModelView model={model} />;
      }}
    </QueryView>
  );
}

function ModelView({ model }: { readonly model: Model }) {
  const { id: org, may } = useOrganization();
  const kind = kindOf(model.modality);
  return (
    <>
      <PageHeader
        title={model.name}
        description={
          <span className="inline-flex items-center gap-1">
            <code className="font-mono">{model.id}</code>
            <CopyButton text={model.id} object="model id" />
          </span>
        }
        actions={
          <>
            <ButtonLink to="/o/$org/requests" params={{ org }} search={{ model: model.id }}>
              Requests
            </ButtonLink>
            {kind !== undefined && may('developer') && (
              <ButtonLink
                variant="primary"
                to="/o/$org/playground/$kind"
                params={{ org, kind }}
                search={{ model: model.id }}
              >
                Try it
              </ButtonLink>
            )}
          </>
        }
      />
      <div className="grid items-start gap-5 xl:grid-cols-2">
        <div className="space-y-5">
          <Card title="Model">
            <Facts facts={factsOf(model)} />
          </Card>
          <UsageSummary of={{ model: model.id }} />
        </div>
        <div className="space-y-5">
          <Prices title="Prices" lines={priceLines(model.pricing)} />
          {priceTiers(model.pricing).map(({ aboveInputTokens, lines }) => (
            <Prices
              key={aboveInputTokens}
              title={`Prices above ${formatCount(aboveInputTokens)} input tokens`}
              lines={lines}
            />
          ))}
        </div>
        <Card title="Use it in code" className="xl:col-span-2">
          <CodeSamples request={sampleOf(model)} />
        </Card>
      </div>
    </>
  );
}

function Prices({ title, lines }: { readonly title: string; readonly lines: readonly PriceLine[] }) {
  return (
    <Card title={title} flush>
      <DataTable label={title} columns={PRICE_COLUMNS} rows={lines} rowKey={({ label, unit }) => `${label} ${unit}`} />
    </Card>
  );
}

function factsOf(model: Model): ReadonlyArray<readonly [string, string | null]> {
  const { context_length: context, max_output_tokens: maxOutput, features, media } = model;
  const durations = media?.durations;
  return [
    ['Kind', model.modality],
    ['Input', list(model.input_modalities)],
    ['Output', list(model.output_modalities)],
    ['Context', context === undefined ? null : `${formatCount(context)} tokens`],
    ['Longest output', maxOutput === undefined ? null : `${formatCount(maxOutput)} tokens`],
    ['Features', featureWords(model).join(', ') || null],
    ['Reasoning effort', list(features.reasoning)],
    ['Sizes', list(media?.sizes)],
    ['Qualities', list(media?.qualities)],
    ['Styles', list(media?.styles)],
    ['Resolutions', list(media?.resolutions)],
    ['Aspect ratios', list(media?.aspect_ratios)],
    ['Seconds', Array.isArray(durations) ? list(durations) : durations === undefined ? null : rangeOf(durations)],
    ['Sound', media?.audio ?? null],
    ['Voices', list(media?.voices)],
    ['Formats', list(media?.formats)],
  ];
}

function rangeOf({ min, max }: { readonly min: number; readonly max: number }): string {
  return `${min} to ${max}`;
}

function list(values: readonly unknown[] | undefined): string | null {
  return values?.join(', ') ?? null;
}
