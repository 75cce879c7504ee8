import { Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { SchedulingModule } from '../scheduling/scheduling.module';
import { HttpAdapterHost } from '@nestjs/core';
import { CLOCK, type Clock } from '../time/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { createObjectStorage } from './create-object-storage';
import { LocalStorage } from './local-storage';
import { OBJECT_STORAGE, type ObjectStorage } from './object-storage';
import { RetentionSweeperService } from './retention-sweeper.service';
import { StoredObjectRepository } from './stored-object.repository';
import { StoredObjects } from './stored-objects';

/** Storage and retention of outputs that clients fetch by signed URLs (`README.md`). */
@Module({
  imports: [SchedulingModule],
  providers: [
    {
      provide: OBJECT_STORAGE,
      inject: [APP_CONFIG, CLOCK, HttpAdapterHost],
      useFactory: (config: AppConfig, clock: Clock, { httpAdapter }: HttpAdapterHost) =>
        createObjectStorage(config, clock, () => httpAdapter.getHttpServer()),
    },
    StoredObjectRepository,
    StoredObjects,
    RetentionSweeperService,
  ],
  exports: [OBJECT_STORAGE, StoredObjects],
})
export class StorageModule implements OnModuleInit, OnApplicationShutdown {
  constructor(@Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null) {}

  /** @throws DataDirectoryError when local objects cannot be written */
  onModuleInit(): void {
    if (this.storage instanceof LocalStorage) this.storage.requireWritable();
  }

  onApplicationShutdown(): void {
    this.storage?.close();
  }
}
