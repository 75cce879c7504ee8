import { Module } from '@nestjs/common';
import { StorageModule } from '../core/storage/storage.module';
import { OpenapiController } from './openapi.controller';
import { ProbesModule } from './probes.module';
import { StoredObjectController } from './stored-object.controller';

/** The HTTP edge: the request pipeline (`request-pipeline.ts`) and the shared routes. */
@Module({
  imports: [ProbesModule, StorageModule],
  controllers: [OpenapiController, StoredObjectController],
  exports: [ProbesModule],
})
export class HttpModule {}
