import { Logger } from '@nestjs/common';
import { isLockTimeout } from '../../core/database/driver-error';
import { BatchQueue, type BatchQueueOptions, type FindLane } from './batch-queue';

export interface AccountLanesOptions<Operation, Answer> extends BatchQueueOptions<Operation, Answer> {
  /** Returns those of the organizations whose accounts are locked by another transaction. */
  readonly findLockedAccounts: (organizationIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Like `execute`, for operations of one locked account, in parallel with the shared batches. */
  readonly executeIsolated: BatchQueueOptions<Operation, Answer>['execute'];
  /** Like `maxWaitMs`, for callers that need a locked account. */
  readonly isolatedMaxWaitMs: number;
}

const logger = new Logger('Billing');

/**
 * Operations of all accounts share batches, which makes them cheap. When another transaction locks an account for longer
 * than the lock timeout of a batch, its operations move to a separate lane so that they do not block other accounts, and
 * return to the shared queue once they succeed.
 */
export class AccountLanes<Operation extends { readonly organizationId: string }, Answer> {
  private readonly shared: BatchQueue<Operation, Answer>;
  /** By organization. A locked account keeps its lane, even while the lane is empty. */
  private readonly lanes = new Map<string, BatchQueue<Operation, Answer>>();

  constructor(private readonly options: AccountLanesOptions<Operation, Answer>) {
    this.shared = new BatchQueue({ ...options, findLane: (operations) => this.findLane(operations) });
  }

  /** `true`: too many operations wait, or one for too long; admit no new ones of this organization. */
  isCongested(organizationId: string): boolean {
    return this.shared.congested || this.lanes.get(organizationId)?.congested === true;
  }

  /** @throws GatewayError as {@link BatchQueue.push} */
  push(operation: Operation): Promise<Answer> {
    return (this.lanes.get(operation.organizationId) ?? this.shared).push(operation);
  }

  /** Resolves with `true` once all queues are empty, or with `false` after `timeoutMs`; they are closed afterwards. */
  async drain(timeoutMs: number): Promise<boolean> {
    const sharedIsEmpty = await this.shared.drain(timeoutMs);
    const laneIsEmpty = await Promise.all([...this.lanes.values()].map((lane) => lane.drain(timeoutMs)));
    return sharedIsEmpty && laneIsEmpty.every(Boolean);
  }

  private async findLane(operations: readonly Operation[]): Promise<FindLane<Operation, Answer>> {
    const organizationIds = [...new Set(operations.map(({ organizationId }) => organizationId))];
    // If the lookup fails, no account is treated as locked.
    const locked = await this.options.findLockedAccounts(organizationIds).catch(() => new Set<string>());
    return ({ organizationId }) => (locked.has(organizationId) ? this.laneOf(organizationId) : null);
  }

  private laneOf(organizationId: string): BatchQueue<Operation, Answer> {
    const known = this.lanes.get(organizationId);
    if (known !== undefined) return known;
    logger.warn({
      event: 'account_locked',
      message: 'the account is locked by another transaction; its requests are processed separately',
      organization_id: organizationId,
    });
    const { executeIsolated, isolatedMaxWaitMs } = this.options;
    let isLocked = true;
    const lane = new BatchQueue<Operation, Answer>({
      ...this.options,
      maxWaitMs: isolatedMaxWaitMs,
      execute: async (operations, attempt) => {
        try {
          const answers = await executeIsolated(operations, attempt);
          isLocked = false;
          return answers;
        } catch (error) {
          isLocked = isLockTimeout(error);
          throw error;
        }
      },
      onIdle: () => {
        if (!isLocked) this.lanes.delete(organizationId);
      },
    });
    this.lanes.set(organizationId, lane);
    return lane;
  }
}
