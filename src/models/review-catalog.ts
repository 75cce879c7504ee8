/**
 * Finds problems of a well-formed catalogue: models that cannot be offered, settings without effect, unknown providers.
 * Pure; used by the import and by `catalog check`.
 */
import type { Modality } from '../core/types/modality';
import type { Price } from './catalog-model';
import { startMs, type CatalogEntry, type CatalogEntryDeployment } from './catalog.schema';
import type { CatalogProblem, LoadedModel } from './load-catalog';

/** The kinds of price that a model of each modality needs; one of them is enough. */
const PRICE_KINDS: Readonly<Record<Modality, readonly (keyof Price)[]>> = {
  text: ['tokens', 'request'],
  embedding: ['tokens', 'request'],
  image: ['image', 'tokens', 'request'],
  speech: ['speech', 'tokens', 'request'],
  transcription: ['transcription', 'tokens', 'request'],
  video: ['video'],
  music: ['music'],
};

const SPOKEN_DIALECTS: ReadonlySet<string | undefined> = new Set([
  undefined,
  'openai-chat',
  'openai-media',
  'openai-responses',
  'anthropic-messages',
]);

/** Whether the price covers models of this modality. */
export function isPriced(modality: Modality, price: Price): boolean {
  return PRICE_KINDS[modality].some((kind) => price[kind] !== undefined);
}

/** Whether the model may be offered at all; {@link isDeploymentRunnable} checks each deployment. */
export function isModelOfferable(entry: CatalogEntry): boolean {
  return entry.status !== 'disabled' && entry.deployments.some((deployment) => isDeploymentRunnable(entry, deployment));
}

/** `false` for a deployment that is unpriced, or of a wire format without adapter. */
export function isDeploymentRunnable(entry: CatalogEntry, deployment: CatalogEntryDeployment): boolean {
  return whyNotRunnable(entry, deployment) === null;
}

/** Warnings for the operator, which do not prevent the import. */
export function findWarnings(models: readonly LoadedModel[]): CatalogProblem[] {
  return models.flatMap(({ entry, file }) => {
    const at = (path: string, message: string): CatalogProblem => ({ file, model: entry.id, path, message });
    const warnings = entry.deployments.flatMap((deployment, index) => {
      const path = `deployments[${index}]`;
      const reason = whyNotRunnable(entry, deployment);
      return reason === null ? [] : [at(path, `disabled: ${reason}`)];
    });
    const hidden = entry.status !== 'disabled' && !isModelOfferable(entry);
    return hidden ? [...warnings, at('', 'imported as disabled: no deployment can be offered')] : warnings;
  });
}

/** Deployments that their vendors no longer serve at `nowMs`, of models that are still offered. */
export function findRetired(models: readonly LoadedModel[], nowMs: number): CatalogProblem[] {
  const isPast = (day: string | undefined): boolean => day !== undefined && startMs(day) <= nowMs;
  return models.flatMap(({ entry, file }) =>
    isPast(entry.retires) || entry.status === 'disabled'
      ? []
      : entry.deployments.flatMap(({ retires }, index) =>
          isPast(retires)
            ? [{ file, model: entry.id, path: `deployments[${index}].retires`, message: `retired on ${retires}` }]
            : [],
        ),
  );
}

/** Deployments that name an unknown provider. */
export function findUnknownProviders(
  models: readonly LoadedModel[],
  knownProviders: ReadonlySet<string>,
): CatalogProblem[] {
  return models.flatMap(({ entry, file }) =>
    entry.deployments.flatMap(({ provider }, index) =>
      knownProviders.has(provider)
        ? []
        : [{ file, model: entry.id, path: `deployments[${index}].provider`, message: `unknown provider ${provider}` }],
    ),
  );
}

function whyNotRunnable(entry: CatalogEntry, deployment: CatalogEntryDeployment): string | null {
  if (![...deployment.prices, ...entry.prices].some((price) => isPriced(entry.modality, price))) {
    return `no price for the modality ${entry.modality}`;
  }
  return whyNotCallable(deployment);
}

/** Why a deployment cannot be called, apart from a missing price, which may be added later; `null`: it can. */
export function whyNotCallable({ dialect }: Pick<CatalogEntryDeployment, 'dialect'>): string | null {
  return SPOKEN_DIALECTS.has(dialect) ? null : `no adapter for the dialect ${dialect}`;
}
