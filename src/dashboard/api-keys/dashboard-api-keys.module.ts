import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module';
import { KeysController } from './keys.controller';
import { PlaygroundKeysController } from './playground-keys.controller';

@Module({ imports: [OrganizationsModule], controllers: [KeysController, PlaygroundKeysController] })
export class DashboardKeysModule {}
