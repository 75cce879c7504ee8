import { Module } from '@nestjs/common';
import { StorageModule } from '../storage/storage.module';
import { OpenapiController } from './openapi.controller';
import { ProbesModule } from './probes.module';
import { StoredObjectController } from './stored-object.controller';

/** The edge: what every request passes (`request-pipeline.ts`) and the routes that belong to nobody else. */
@Module({
  imports: [ProbesModule, StorageModule],
  controllers: [OpenapiController, StoredObjectController],
  exports: [ProbesModule],
})
export class HttpModule {}
