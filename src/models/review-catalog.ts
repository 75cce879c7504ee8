/**
 * What a catalogue that is well formed still may get wrong: models that cannot be offered, settings that nothing reads
 * yet, providers that do not exist. Pure; used by the import and by `catalog check`.
 */
import type { Modality } from '../common/modality';
import type { Price } from './catalog-model';
import type { CatalogEntry, CatalogEntryDeployment } from './catalog.schema';
import type { CatalogProblem, LoadedModel } from './load-catalog';

/** The kinds of price that make a model of each modality payable; one of them is enough. */
const PRICE_KINDS: Readonly<Record<Modality, readonly (keyof Price)[]>> = {
  text: ['tokens', 'request'],
  embedding: ['tokens', 'request'],
  image: ['image', 'tokens', 'request'],
  speech: ['speech', 'tokens', 'request'],
  transcription: ['transcription', 'tokens', 'request'],
  video: ['video'],
  music: ['music'],
};

const SPOKEN_DIALECTS: ReadonlySet<string | undefined> = new Set([undefined, 'openai-chat', 'openai-media']);
const UNREAD_SETTINGS = ['api_version', 'region', 'map', 'output', 'limits'] as const;

/** Whether the price says what a model of this modality costs (decision *unpriced*). */
export function isPriced(modality: Modality, price: Price): boolean {
  return PRICE_KINDS[modality].some((kind) => price[kind] !== undefined);
}

/** Whether the model may be offered at all; each deployment is judged by {@link isDeploymentRunnable} besides. */
export function isModelOfferable(entry: CatalogEntry): boolean {
  return entry.status !== 'disabled' && entry.deployments.some((deployment) => isDeploymentRunnable(entry, deployment));
}

/** A deployment that is unpriced, conditional, or of a wire format without adapter must not receive requests. */
export function isDeploymentRunnable(entry: CatalogEntry, deployment: CatalogEntryDeployment): boolean {
  return whyNotRunnable(entry, deployment) === null;
}

/** Things an operator should know of, although they stop nothing. */
export function findWarnings(models: readonly LoadedModel[]): CatalogProblem[] {
  return models.flatMap(({ entry, file }) => {
    const at = (path: string, message: string): CatalogProblem => ({ file, model: entry.id, path, message });
    const warnings = entry.deployments.flatMap((deployment, index) => {
      const path = `deployments[${index}]`;
      const reason = whyNotRunnable(entry, deployment);
      const unread = UNREAD_SETTINGS.filter((key) => deployment[key] !== undefined);
      return [
        ...(reason === null ? [] : [at(path, `disabled: ${reason}`)]),
        ...unread.map((key) => at(`${path}.${key}`, 'stored, but has no effect yet')),
      ];
    });
    const hidden = entry.status !== 'disabled' && !isModelOfferable(entry);
    return hidden ? [...warnings, at('', 'imported as disabled: no deployment can be offered')] : warnings;
  });
}

/** Deployments that name a provider which the gateway does not have, configured or not. */
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

/** What keeps a deployment from being called even if it had a price, which may also come later. */
export function whyNotCallable({ dialect, when }: Pick<CatalogEntryDeployment, 'dialect' | 'when'>): string | null {
  if (!SPOKEN_DIALECTS.has(dialect)) return `no adapter for the dialect ${dialect}`;
  return when === undefined ? null : 'conditions (when) are not evaluated yet';
}
