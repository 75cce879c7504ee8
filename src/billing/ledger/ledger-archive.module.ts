import { Module } from '@nestjs/common';
import { PartitionsModule } from '../../core/partitions/partitions.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { StorageModule } from '../../core/storage/storage.module';
import { LedgerArchiveRepository } from './ledger-archive.repository';
import { LedgerArchiveService } from './ledger-archive.service';

/** Moves closed days of the ledger to object storage (README, "Archived days"). */
@Module({
  imports: [PartitionsModule, SchedulingModule, StorageModule],
  providers: [LedgerArchiveRepository, LedgerArchiveService],
})
export class LedgerArchiveModule {}
