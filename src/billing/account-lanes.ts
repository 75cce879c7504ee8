import { Logger } from '@nestjs/common';
import { isLockTimeout } from '../database/driver-error';
import { BatchQueue, type BatchQueueOptions, type FindLane } from './batch-queue';

export interface AccountLanesOptions<Operation, Answer> extends BatchQueueOptions<Operation, Answer> {
  /** Which of these organizations have accounts that somebody has locked. */
  readonly findHeldUp: (organizationIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The same as `execute`, for operations of one such account, beside all others. */
  readonly executeAside: BatchQueueOptions<Operation, Answer>['execute'];
  /** How long a caller waits who needs such an account. */
  readonly asidePatienceMs: number;
}

const logger = new Logger('Billing');

/**
 * Operations of all accounts go in batches together, which is what makes them cheap, until somebody locks one account for
 * longer than a batch waits. Its operations then get a lane of their own, so that they keep no others waiting, and come
 * back to the others once they get through.
 */
export class AccountLanes<Operation extends { readonly organizationId: string }, Answer> {
  private readonly shared: BatchQueue<Operation, Answer>;
  /** By organization. One that is held up keeps its lane, also while nothing is in it. */
  private readonly lanes = new Map<string, BatchQueue<Operation, Answer>>();

  constructor(private readonly options: AccountLanesOptions<Operation, Answer>) {
    this.shared = new BatchQueue({ ...options, findLane: (operations) => this.findLane(operations) });
  }

  /** Too much waits, or something for too long, so that nothing new of this organization should be admitted. */
  isCongested(organizationId: string): boolean {
    return this.shared.congested || this.lanes.get(organizationId)?.congested === true;
  }

  /** @throws GatewayError as {@link BatchQueue.push} */
  push(operation: Operation): Promise<Answer> {
    return (this.lanes.get(operation.organizationId) ?? this.shared).push(operation);
  }

  /** Resolves with `true` once nothing is left, or with `false` after `timeoutMs`; nothing is taken then. */
  async drain(timeoutMs: number): Promise<boolean> {
    const sharedIsEmpty = await this.shared.drain(timeoutMs);
    const laneIsEmpty = await Promise.all([...this.lanes.values()].map((lane) => lane.drain(timeoutMs)));
    return sharedIsEmpty && laneIsEmpty.every(Boolean);
  }

  private async findLane(operations: readonly Operation[]): Promise<FindLane<Operation, Answer>> {
    const organizationIds = [...new Set(operations.map(({ organizationId }) => organizationId))];
    // Without an answer nobody is known to be at fault.
    const heldUp = await this.options.findHeldUp(organizationIds).catch(() => new Set<string>());
    return ({ organizationId }) => (heldUp.has(organizationId) ? this.laneOf(organizationId) : null);
  }

  private laneOf(organizationId: string): BatchQueue<Operation, Answer> {
    const known = this.lanes.get(organizationId);
    if (known !== undefined) return known;
    logger.warn(`Somebody has locked the account of organization ${organizationId}: its requests wait for it alone.`);
    const { executeAside, asidePatienceMs } = this.options;
    let isHeldUp = true;
    const lane = new BatchQueue<Operation, Answer>({
      ...this.options,
      patienceMs: asidePatienceMs,
      execute: async (operations, attempt) => {
        try {
          const answers = await executeAside(operations, attempt);
          isHeldUp = false;
          return answers;
        } catch (error) {
          isHeldUp = isLockTimeout(error);
          throw error;
        }
      },
      onIdle: () => {
        if (!isHeldUp) this.lanes.delete(organizationId);
      },
    });
    this.lanes.set(organizationId, lane);
    return lane;
  }
}
