import { Module } from '@nestjs/common';
import { SchedulingModule } from '../scheduling/scheduling.module';
import { DayPartitions } from './day-partitions';
import { PartitionSweeps } from './partition-sweeps';

/** Tables that are partitioned by day (README.md). */
@Module({ imports: [SchedulingModule], providers: [DayPartitions, PartitionSweeps], exports: [DayPartitions] })
export class PartitionsModule {}
