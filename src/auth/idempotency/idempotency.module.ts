import { Module } from '@nestjs/common';
import { ResponseMemory } from '../../core/http/response-memory';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { IdempotencyService } from './idempotency.service';
import { IdempotencySweeperService } from './idempotency-sweeper.service';
import { DEFAULT_IDEMPOTENCY_OPTIONS, IDEMPOTENCY_OPTIONS, ResponseStore } from './response-store';

/**
 * Idempotent requests: keys, stored responses and their retention. The money functions write the records in the
 * transactions that hold and charge (`README.md`).
 */
@Module({
  imports: [SchedulingModule],
  providers: [
    ResponseStore,
    IdempotencyService,
    IdempotencySweeperService,
    ResponseMemory,
    { provide: IDEMPOTENCY_OPTIONS, useFactory: () => ({ ...DEFAULT_IDEMPOTENCY_OPTIONS }) },
  ],
  exports: [ResponseStore, IdempotencyService, ResponseMemory],
})
export class IdempotencyModule {}
