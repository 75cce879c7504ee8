import type { DataSource, EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { MODEL_ID } from '../contract/patterns';
import { ModelEntity } from '../database/entities/model.entity';
import { DeploymentEntity } from '../database/entities/deployment.entity';
import { PriceVersionEntity } from '../database/entities/price-version.entity';
import { findNextRevision, findPriceVersions, findRevisions } from './catalog-admin.repository';
import { modelNotFound } from './catalog-admin.service';
import type { Price } from './catalog-model';
import { endMs, instantSchema, priceContentSchema, startMs } from './catalog.schema';
import { lockCatalog } from './catalog.repository';
import { describeIssues } from './load-catalog';
import { isPriced } from './review-catalog';

/** A price as an operator sets it. */
export interface NewPrice {
  /** Absent: for all deployments of the model that have no price of their own. */
  readonly deploymentId?: string | null;
  /** A day or an instant as ISO 8601, not past; absent: now. */
  readonly effectiveFrom?: string | null;
  /** The same; absent: until another is set. */
  readonly effectiveTo?: string | null;
  /** Where the figures come from. */
  readonly reference: string;
  /** As `prices[]` of a catalogue file has it, without dates and source. */
  readonly price: unknown;
}

export interface PriceAdminOptions {
  readonly dataSource: DataSource;
  readonly clock: Clock;
  /** Tells every process to read the catalogue anew; never rejects. */
  readonly announce: () => Promise<void>;
}

/**
 * How long before its beginning a price can still be withdrawn: every process has heard of it by then, also without Redis and
 * with a clock that is ahead, so that nobody is ever charged by a price that was withdrawn.
 */
const WITHDRAWAL_NOTICE_MS = 60_000;
/** No operator plans further ahead, and dates beyond it are not what they seem. */
const LAST_INSTANT_MS = Date.UTC(2200, 0, 1);

/** The history of prices, to which operators add; what has been charged can always be priced again as it was. */
export class PriceAdminService {
  constructor(private readonly options: PriceAdminOptions) {}

  /** @throws GatewayError `not_found`. */
  async list(
    modelId: string,
    page: { readonly limit: number; readonly beforeId: string | null },
  ): Promise<PriceVersionEntity[]> {
    const { manager } = this.options.dataSource;
    assertModelId(modelId);
    if (!(await manager.existsBy(ModelEntity, { id: modelId }))) throw modelNotFound();
    return findPriceVersions(manager, modelId, page);
  }

  /**
   * Adds a version, which holds before those of the files from `effectiveFrom` on. Of the same beginning it is the next
   * revision. A beginning that has passed is refused: it would change what requests have already cost.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async add(modelId: string, input: NewPrice, actor: Actor): Promise<PriceVersionEntity> {
    const { dataSource, clock, announce } = this.options;
    assertModelId(modelId);
    const price = parsePrice(input.price);
    const version = await dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      const model = await manager.findOneBy(ModelEntity, { id: modelId });
      if (model === null) throw modelNotFound();
      if (!isPriced(model.modality, price)) {
        throw invalid('price', `price does not say what a model of the modality ${model.modality} costs`);
      }
      const deploymentId = input.deploymentId ?? null;
      if (deploymentId !== null && !(await manager.existsBy(DeploymentEntity, { id: deploymentId, modelId }))) {
        throw new GatewayError('not_found', 'The model has no such deployment.', { param: 'deployment_id' });
      }
      // Under the lock: of those who wait for it none may begin before the one that it waited for.
      const nowMs = clock.now();
      const period = parsePeriod(input, nowMs);
      const place = { modelId, deploymentId, effectiveFrom: period.from };
      const row = {
        ...place,
        id: uuidV7(nowMs),
        effectiveTo: period.to,
        revision: await findNextRevision(manager, place),
        content: price,
        source: 'admin' as const,
        reference: input.reference,
        checkedAt: new Date(nowMs).toISOString().slice(0, 10),
      };
      return append(manager, row, { actor, action: 'price.created' });
    });
    await announce();
    return version;
  }

  /**
   * Takes back a version of an operator that has not begun. At its beginning holds again what the files say of it, perhaps
   * nothing: the next revision says so, and what was withdrawn stays in the history.
   * @throws GatewayError `not_found`; `conflict` when it comes from a file, begins within a minute or has begun, or another
   * revision of its beginning counts.
   */
  async withdraw(modelId: string, id: string, actor: Actor): Promise<PriceVersionEntity> {
    const { dataSource, clock, announce } = this.options;
    assertModelId(modelId);
    const standing = await dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      const nowMs = clock.now();
      const withdrawn = await manager.findOneBy(PriceVersionEntity, { id, modelId });
      if (withdrawn === null) throw priceNotFound();
      const revisions = await findRevisions(manager, withdrawn);
      assertWithdrawable(withdrawn, revisions, nowMs);
      const { deploymentId, effectiveFrom, effectiveTo, source, reference, checkedAt } = withdrawn;
      const nothing = { effectiveTo, content: null, source, reference, checkedAt };
      const ofFiles = revisions.find((each) => each.source !== 'admin') ?? nothing;
      const row = {
        id: uuidV7(nowMs),
        modelId,
        deploymentId,
        effectiveFrom,
        effectiveTo: ofFiles.effectiveTo,
        revision: withdrawn.revision + 1,
        content: ofFiles.content,
        source: ofFiles.source,
        reference: ofFiles.reference,
        checkedAt: ofFiles.checkedAt,
      };
      return append(manager, row, { actor, action: 'price.withdrawn', before: summaryOf(withdrawn) });
    });
    await announce();
    return standing;
  }
}

/** @throws GatewayError `conflict`. @param revisions of its beginning, the last one first. */
function assertWithdrawable(
  { id, source, effectiveFrom }: PriceVersionEntity,
  revisions: readonly PriceVersionEntity[],
  nowMs: number,
): void {
  const [last] = revisions;
  if (last?.id !== id) throw new GatewayError('conflict', 'A later revision of this beginning counts, not this one.');
  if (last.content === null) throw new GatewayError('conflict', 'This price is withdrawn already.');
  if (source !== 'admin') throw new GatewayError('conflict', 'This price comes from the catalogue files.');
  if (effectiveFrom.getTime() < nowMs + WITHDRAWAL_NOTICE_MS) {
    throw new GatewayError('conflict', 'This price has begun or begins within a minute. Set another one instead.');
  }
}

type NewVersion = Omit<PriceVersionEntity, 'createdAt'>;

/** Writes a version and what the audit log tells of it. Returns it as it is stored. */
async function append(
  manager: EntityManager,
  row: NewVersion,
  change: { readonly actor: Actor; readonly action: string; readonly before?: object },
): Promise<PriceVersionEntity> {
  await manager.insert(PriceVersionEntity, row);
  const target = { type: 'model', id: row.modelId };
  await recordAudit(manager, { organizationId: null, ...change, target, after: summaryOf(row) });
  return manager.findOneByOrFail(PriceVersionEntity, { id: row.id });
}

/** What the audit log tells of a version. */
function summaryOf({ id, deploymentId, effectiveFrom, effectiveTo, revision, content }: NewVersion): object {
  return {
    price_version_id: id,
    deployment_id: deploymentId,
    effective_from: effectiveFrom.toISOString(),
    effective_to: effectiveTo?.toISOString() ?? null,
    revision,
    price: content,
  };
}

export const NO_SUCH_PRICE = 'The model has no such price.';

function priceNotFound(): GatewayError {
  return new GatewayError('not_found', NO_SUCH_PRICE);
}

/** What is no id names no model, and may hold what PostgreSQL takes for no text. */
function assertModelId(modelId: string): void {
  if (!MODEL_ID.test(modelId)) throw modelNotFound();
}

function parsePrice(value: unknown): Price {
  const result = priceContentSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues.flatMap(describeIssues);
  const param = issue === undefined || issue.path === '' ? 'price' : `price.${issue.path}`.slice(0, 200);
  throw invalid(param, `${param}: ${issue?.message ?? 'is no price'}`);
}

function parsePeriod({ effectiveFrom, effectiveTo }: NewPrice, nowMs: number): { from: Date; to: Date | null } {
  const from = effectiveFrom == null ? new Date(nowMs) : parseInstant(effectiveFrom, 'effective_from', startMs);
  const to = effectiveTo == null ? null : parseInstant(effectiveTo, 'effective_to', endMs);
  if (from.getTime() < nowMs) {
    throw invalid('effective_from', 'effective_from must not be past: what has been charged stays as it was');
  }
  if (to !== null && to <= from) throw invalid('effective_to', 'effective_to must be later than effective_from');
  return { from, to };
}

/** A day begins at 00:00 UTC and ends with its last moment, as in the files. */
function parseInstant(text: string, param: string, toMs: (date: string) => number): Date {
  const result = instantSchema.safeParse(text);
  const ms = result.success ? toMs(result.data) : Number.NaN;
  if (!(ms < LAST_INSTANT_MS)) {
    throw invalid(param, `${param} must be a date or a time with its offset as ISO 8601, before the year 2200`);
  }
  return new Date(ms);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
