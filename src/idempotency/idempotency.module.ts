import { Module } from '@nestjs/common';
import { AnswerStore } from './answer-store';
import { DEFAULT_IDEMPOTENCY_OPTIONS, IDEMPOTENCY_OPTIONS } from './idempotency-options';
import { IdempotencyService } from './idempotency.service';
import { IdempotencySweeperService } from './idempotency-sweeper.service';

/**
 * Requests that can be repeated safely: what a key means, what it was answered, how long that is kept. The records
 * themselves are written by the money functions, in the transactions that hold and charge (`README.md`).
 */
@Module({
  providers: [
    AnswerStore,
    IdempotencyService,
    IdempotencySweeperService,
    { provide: IDEMPOTENCY_OPTIONS, useFactory: () => ({ ...DEFAULT_IDEMPOTENCY_OPTIONS }) },
  ],
  exports: [AnswerStore, IdempotencyService],
})
export class IdempotencyModule {}
