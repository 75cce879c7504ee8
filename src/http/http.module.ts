import { Module } from '@nestjs/common';
import { StorageModule } from '../core/storage/storage.module';
import { OpenapiController } from './openapi.controller';
import { ProbesModule } from './probes.module';
import { StoredObjectController } from './stored-object.controller';

/** The shared routes of the HTTP edge. The request path is `request-path.ts`. */
@Module({
  imports: [ProbesModule, StorageModule],
  controllers: [OpenapiController, StoredObjectController],
  exports: [ProbesModule],
})
export class HttpModule {}
