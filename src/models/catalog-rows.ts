/**
 * Converts the catalogue files to rows of the three tables. Pure.
 */
import { createHash } from 'node:crypto';
import type { DeploymentEntity } from '../core/database/entities/deployment.entity';
import type { ModelEntity } from '../core/database/entities/model.entity';
import type { PriceVersionEntity } from '../core/database/entities/price-version.entity';
import { NO_LIMITS, type RateLimits } from '../core/types/rate-limits';
import type { ModelFeatures, Quirks } from '../providers/contract/provider-call';
import type { MediaSupport, Price } from './catalog-model';
import {
  type CatalogEntry,
  type CatalogEntryDeployment,
  type CatalogEntryPrice,
  deploymentKey,
  endMs,
  startMs,
} from './catalog.schema';
import type { CatalogFileSource, LoadedModel } from './load-catalog';
import { isModelOfferable, whyNotCallable } from './review-catalog';

/** A model according to the files. Overrides by operators are a {@link ModelDecision}. */
export interface ModelRow extends Omit<
  ModelEntity,
  'createdAt' | 'features' | 'media' | 'limits' | keyof ModelDecision
> {
  features: ModelFeatures;
  media: MediaSupport | null;
  limits: RateLimits | null;
}

export interface DeploymentRow extends Omit<
  DeploymentEntity,
  'createdAt' | 'quirks' | 'settings' | keyof DeploymentDecision
> {
  quirks: Quirks;
  settings: DeploymentSettings;
}

/** Keys of a catalogue file without a column. */
export type DeploymentSettings = Partial<
  Pick<CatalogEntryDeployment, 'timeouts' | 'retires' | 'when' | 'map' | 'fixed' | 'output'>
> &
  Readonly<Record<string, unknown>>;

/** Overrides the files, also after later imports; `null`: no override. */
export interface ModelDecision {
  decidedEnabled: boolean | null;
  /** Only the overridden limits; `null` removes a limit. */
  decidedLimits: Partial<RateLimits> | null;
}

export interface DeploymentDecision {
  decidedEnabled: boolean | null;
  decidedPriority: number | null;
  decidedWeight: number | null;
}

/** A price from a file, not yet a version. */
export interface PriceRow extends Omit<PriceVersionEntity, 'id' | 'revision' | 'createdAt' | 'content'> {
  content: Price | null;
}

export interface PriceVersionRow extends PriceRow {
  id: string;
  revision: number;
}

/** The rows desired by the files. */
export interface CatalogRows {
  readonly models: readonly ModelRow[];
  readonly deployments: readonly DeploymentRow[];
  readonly prices: readonly PriceRow[];
}

/** The catalogue in the database, with only the newest revision of each price. */
export interface StoredCatalog {
  readonly models: readonly (ModelRow & Pick<ModelEntity, 'createdAt'>)[];
  readonly deployments: readonly DeploymentRow[];
  readonly prices: readonly PriceVersionRow[];
}

export type DecidedModelRow = StoredCatalog['models'][number] & ModelDecision;
export type DecidedDeploymentRow = DeploymentRow & DeploymentDecision;

/** The same with overrides beside the values of the files. */
export interface DecidedCatalog extends StoredCatalog {
  readonly models: readonly DecidedModelRow[];
  readonly deployments: readonly DecidedDeploymentRow[];
}

/** Converts the loaded files to rows. */
export function toCatalogRows(models: readonly LoadedModel[]): CatalogRows {
  const deployments: DeploymentRow[] = [];
  const prices: PriceRow[] = [];
  for (const { entry, source } of models) {
    prices.push(...entry.prices.map((price) => toPriceRow(price, entry.id, null, source)));
    entry.deployments.forEach((deployment, position) => {
      const row = toDeploymentRow(entry, deployment, position, source);
      deployments.push(row);
      prices.push(...deployment.prices.map((price) => toPriceRow(price, entry.id, row.id, source)));
    });
  }
  return { models: models.map(({ entry, source }) => toModelRow(entry, source)), deployments, prices };
}

function toModelRow(entry: CatalogEntry, source: CatalogFileSource): ModelRow {
  return {
    id: entry.id,
    displayName: entry.display_name ?? entry.id.slice(entry.id.indexOf('/') + 1),
    modality: entry.modality,
    inputModalities: entry.input_modalities,
    outputModalities: entry.output_modalities,
    status: entry.status,
    releasedOn: entry.released ?? null,
    retiresOn: entry.retires ?? null,
    aliases: entry.aliases,
    contextLength: entry.context ?? null,
    maxOutputTokens: entry.max_output ?? null,
    features: entry.features,
    tokensPerByte: entry.tokens_per_byte,
    media: entry.media ?? null,
    limits: toRateLimits(entry.limits),
    source,
    enabled: isModelOfferable(entry),
  };
}

function toRateLimits(limits: CatalogEntry['limits']): RateLimits | null {
  if (limits === undefined) return null;
  return {
    requestsPerSecond: limits.rps ?? null,
    requestsPerMinute: limits.rpm ?? null,
    tokensPerMinute: limits.tpm ?? null,
    concurrency: limits.concurrent ?? null,
  };
}

function toDeploymentRow(
  entry: CatalogEntry,
  deployment: CatalogEntryDeployment,
  position: number,
  source: CatalogFileSource,
): DeploymentRow {
  const { provider, upstream_model, dialect, priority, weight, quirks, prices: _prices, ...settings } = deployment;
  return {
    id: deploymentId(entry.id, deployment),
    modelId: entry.id,
    provider,
    upstreamModel: upstream_model,
    dialect: dialect ?? null,
    priority: priority ?? position,
    weight: weight ?? 1,
    quirks,
    settings,
    source,
    enabled: whyNotCallable(deployment) === null,
  };
}

function toPriceRow(
  { effective_from, effective_to, source: reference, checked_at, currency: _currency, ...content }: CatalogEntryPrice,
  modelId: string,
  deploymentId: string | null,
  source: CatalogFileSource,
): PriceRow {
  return {
    modelId,
    deploymentId,
    effectiveFrom: new Date(startMs(effective_from)),
    effectiveTo: effective_to === undefined ? null : new Date(endMs(effective_to)),
    content,
    source,
    reference,
    checkedAt: checked_at,
  };
}

/** A UUID of version 8 (RFC 9562) made of a hash of the deployment's identity. */
function deploymentId(modelId: string, deployment: CatalogEntryDeployment): string {
  const bytes = createHash('sha256')
    .update(`${modelId}\n${deploymentKey(deployment)}`)
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * The effective catalogue: operator overrides replace the files' values. Deployments of a model are sorted by effective
 * priority, then by id.
 */
export function applyDecisions({ models, deployments, prices }: DecidedCatalog): DecidedCatalog {
  return {
    models: models.map((row) => ({
      ...row,
      enabled: row.decidedEnabled ?? row.enabled,
      limits: row.decidedLimits === null ? row.limits : decideLimits(row.limits, row.decidedLimits),
    })),
    deployments: deployments
      .map((row) => ({
        ...row,
        enabled: row.decidedEnabled ?? row.enabled,
        priority: row.decidedPriority ?? row.priority,
        weight: row.decidedWeight ?? row.weight,
      }))
      .toSorted(byPriority),
    prices,
  };
}

/** The values of the files, which the import compares with new files. */
export function withoutDecisions({ models, deployments, prices }: DecidedCatalog): StoredCatalog {
  return { models: models.map(undecidedModel), deployments: deployments.map(undecidedDeployment), prices };
}

/** `null` when nothing is limited, as for a model without limits. */
function decideLimits(limits: RateLimits | null, decided: Partial<RateLimits>): RateLimits | null {
  const held = { ...NO_LIMITS, ...limits, ...decided };
  return Object.values(held).every((limit) => limit === null) ? null : held;
}

function byPriority(a: DecidedDeploymentRow, b: DecidedDeploymentRow): number {
  if (a.modelId !== b.modelId) return a.modelId < b.modelId ? -1 : 1;
  return a.priority - b.priority || (a.id < b.id ? -1 : 1);
}

function undecidedModel({
  decidedEnabled: _enabled,
  decidedLimits: _limits,
  ...row
}: DecidedModelRow): StoredCatalog['models'][number] {
  return row;
}

function undecidedDeployment({
  decidedEnabled: _enabled,
  decidedPriority: _priority,
  decidedWeight: _weight,
  ...row
}: DecidedDeploymentRow): StoredCatalog['deployments'][number] {
  return row;
}
