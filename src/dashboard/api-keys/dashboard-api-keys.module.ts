import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module';
import { KeysController } from './keys.controller';

@Module({ imports: [OrganizationsModule], controllers: [KeysController] })
export class DashboardKeysModule {}
