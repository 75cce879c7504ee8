import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../core/database/audit-log';
import type { Actor } from '../core/types/actor';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { uuidV7 } from '../core/types/ids';
import { MODEL_ID } from '../contract/patterns';
import { ModelEntity } from '../core/database/entities/model.entity';
import { DeploymentEntity } from '../core/database/entities/deployment.entity';
import { PriceVersionEntity } from '../core/database/entities/price-version.entity';
import { findNextRevision, findPriceVersions, findRevisions, lockCatalog } from './catalog.repository';
import { modelNotFound } from './catalog-admin.service';
import type { Price } from './catalog-model';
import { endMs, instantSchema, priceContentSchema, startMs } from './catalog.schema';
import { describeIssues } from './load-catalog';
import { CatalogAnnouncer } from './model-catalog.service';
import { isPriced } from './review-catalog';

/** A price set by an operator. */
export interface NewPrice {
  /** Absent: applies to all deployments of the model without separate prices. */
  readonly deploymentId?: string | null;
  /** A day or an instant in ISO 8601, not in the past; absent: now. */
  readonly effectiveFrom?: string | null;
  /** A day or an instant in ISO 8601; absent: until another price is set. */
  readonly effectiveTo?: string | null;
  /** Source of the amounts. */
  readonly reference: string;
  /** As in `prices[]` of a catalogue file, without dates and source. */
  readonly price: unknown;
}

/** The end of a price in force. */
export interface PriceEnding {
  /** A day or an instant in ISO 8601, not in the past; absent: now. */
  readonly effectiveTo?: string | null;
  /** Why it ends. */
  readonly reference: string;
}

/**
 * The latest time before its start at which a price can be withdrawn: enough for every process to receive the change,
 * even without Redis or with a clock that is ahead, so that a withdrawn price is never charged.
 */
const WITHDRAWAL_NOTICE_MS = 60_000;
/** Upper bound for dates; later ones are probably mistakes. */
const LAST_INSTANT_MS = Date.UTC(2200, 0, 1);

/** The price history, to which operators only append, so that past charges can always be recomputed. */
@Injectable()
export class PriceAdminService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CatalogAnnouncer) private readonly announcer: Pick<CatalogAnnouncer, 'announce'>,
  ) {}

  /** @throws GatewayError `not_found`. */
  async list(
    modelId: string,
    page: { readonly limit: number; readonly beforeId: string | null },
  ): Promise<PriceVersionEntity[]> {
    const { manager } = this.dataSource;
    assertModelId(modelId);
    if (!(await manager.existsBy(ModelEntity, { id: modelId }))) throw modelNotFound();
    return findPriceVersions(manager, modelId, page);
  }

  /**
   * Adds a version that takes precedence over the files from `effectiveFrom` on. For an existing start time it is the
   * next revision. A start in the past is refused, because it would change the cost of past requests.
   * @throws GatewayError `not_found`, `validation_failed`.
   */
  async add(modelId: string, input: NewPrice, actor: Actor): Promise<PriceVersionEntity> {
    assertModelId(modelId);
    const price = parsePrice(input.price);
    const version = await this.dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      const model = await manager.findOneBy(ModelEntity, { id: modelId });
      if (model === null) throw modelNotFound();
      if (!isPriced(model.modality, price)) {
        throw invalid('price', `price has no amounts for the modality ${model.modality}`);
      }
      const deploymentId = input.deploymentId ?? null;
      if (deploymentId !== null && !(await manager.existsBy(DeploymentEntity, { id: deploymentId, modelId }))) {
        throw new GatewayError('not_found', 'The model has no such deployment.', { param: 'deployment_id' });
      }
      // Read under the lock, so that a waiting change cannot begin before the one that it waited for.
      const nowMs = this.clock.now();
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
    await this.announcer.announce();
    return version;
  }

  /**
   * Withdraws an operator's version that has not begun. The next revision restores the value of the files for its start
   * time, if any; the withdrawn version stays in the history.
   * @throws GatewayError `not_found`; `conflict` when it comes from a file, begins within a minute or has begun, or a
   * later revision of its start time exists.
   */
  async withdraw(modelId: string, id: string, actor: Actor): Promise<PriceVersionEntity> {
    assertModelId(modelId);
    const standing = await this.dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      const nowMs = this.clock.now();
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
    await this.announcer.announce();
    return standing;
  }

  /**
   * Ends an operator's version, now or later. The next revision has the same price and the end, so that past charges
   * stay as they are; from the end on, the version that is in force without it applies. A model without one is not
   * served.
   * @throws GatewayError `not_found`, `validation_failed`; `conflict` when it comes from a file, is withdrawn or has
   * ended, or a later revision of its start time exists.
   */
  async end(modelId: string, id: string, ending: PriceEnding, actor: Actor): Promise<PriceVersionEntity> {
    assertModelId(modelId);
    const ended = await this.dataSource.transaction(async (manager) => {
      await lockCatalog(manager);
      // Read under the lock, so that a waiting change cannot end a price before one that was set meanwhile.
      const nowMs = this.clock.now();
      const before = await manager.findOneBy(PriceVersionEntity, { id, modelId });
      if (before === null) throw priceNotFound();
      assertOperatorsLast(before, await findRevisions(manager, before));
      const { createdAt: _createdAt, ...version } = before;
      const row = {
        ...version,
        id: uuidV7(nowMs),
        effectiveTo: parseEnd(ending.effectiveTo, before, nowMs),
        revision: before.revision + 1,
        reference: ending.reference,
      };
      return append(manager, row, { actor, action: 'price.ended', before: summaryOf(before) });
    });
    await this.announcer.announce();
    return ended;
  }
}

/** @throws GatewayError `conflict`. @param revisions of its start time, latest first. */
function assertOperatorsLast({ id, source }: PriceVersionEntity, [last]: readonly PriceVersionEntity[]): void {
  if (last?.id !== id)
    throw new GatewayError('conflict', 'This price was replaced by a later revision with the same start.');
  if (last.content === null) throw new GatewayError('conflict', 'This price is already withdrawn.');
  if (source !== 'admin') throw new GatewayError('conflict', 'This price comes from the catalogue files.');
}

/** @throws GatewayError `conflict`, `validation_failed`. */
function parseEnd(
  text: string | null | undefined,
  { effectiveFrom, effectiveTo }: PriceVersionEntity,
  nowMs: number,
): Date {
  if (effectiveTo !== null && effectiveTo.getTime() <= nowMs) {
    throw new GatewayError('conflict', 'This price has already ended.');
  }
  const end = text == null ? new Date(nowMs) : parseInstant(text, 'effective_to', endMs);
  if (end.getTime() < nowMs) throw invalid('effective_to', 'effective_to must not be in the past');
  if (end <= effectiveFrom) throw invalid('effective_to', 'effective_to must be later than the start of the price');
  if (effectiveTo !== null && end >= effectiveTo) {
    throw invalid('effective_to', `effective_to must be before ${effectiveTo.toISOString()}, the end of the price`);
  }
  return end;
}

/** @throws GatewayError `conflict`. @param revisions of its start time, latest first. */
function assertWithdrawable(
  version: PriceVersionEntity,
  revisions: readonly PriceVersionEntity[],
  nowMs: number,
): void {
  assertOperatorsLast(version, revisions);
  const { effectiveFrom } = version;
  if (effectiveFrom.getTime() < nowMs + WITHDRAWAL_NOTICE_MS) {
    throw new GatewayError(
      'conflict',
      'This price has begun or begins within a minute. End it or set another one instead.',
    );
  }
}

type NewVersion = Omit<PriceVersionEntity, 'createdAt'>;

/** Writes a version and its audit log entry. Returns the stored version. */
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

/** The fields of a version in the audit log. */
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

/** Refuses malformed ids as not found; they may contain characters that PostgreSQL rejects. */
function assertModelId(modelId: string): void {
  if (!MODEL_ID.test(modelId)) throw modelNotFound();
}

function parsePrice(value: unknown): Price {
  const result = priceContentSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues.flatMap(describeIssues);
  const param = issue === undefined || issue.path === '' ? 'price' : `price.${issue.path}`.slice(0, 200);
  throw invalid(param, `${param}: ${issue?.message ?? 'is not a valid price'}`);
}

function parsePeriod({ effectiveFrom, effectiveTo }: NewPrice, nowMs: number): { from: Date; to: Date | null } {
  const from = effectiveFrom == null ? new Date(nowMs) : parseInstant(effectiveFrom, 'effective_from', startMs);
  const to = effectiveTo == null ? null : parseInstant(effectiveTo, 'effective_to', endMs);
  if (from.getTime() < nowMs) {
    throw invalid('effective_from', 'effective_from must not be in the past');
  }
  if (to !== null && to <= from) throw invalid('effective_to', 'effective_to must be later than effective_from');
  return { from, to };
}

/** A day lasts from 00:00 UTC to its last moment, as in the files. */
function parseInstant(text: string, param: string, toMs: (date: string) => number): Date {
  const result = instantSchema.safeParse(text);
  const ms = result.success ? toMs(result.data) : Number.NaN;
  if (!(ms < LAST_INSTANT_MS)) {
    throw invalid(param, `${param} must be a date or a time with offset in ISO 8601, before the year 2200`);
  }
  return new Date(ms);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
