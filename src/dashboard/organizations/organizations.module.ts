import { Module } from '@nestjs/common';
import { apiKeyPepper } from '../../auth/api-keys/api-key-pepper';
import { ApiKeyReader } from '../../auth/api-keys/api-key.reader';
import { ApiKeyService } from '../../auth/api-keys/api-key.service';
import { PlaygroundKeyService } from '../../auth/api-keys/playground-key.service';
import { MailModule } from '../../core/mail/mail.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { AuditLogReader } from './audit-log.reader';
import { AuditRetention } from './audit-retention';
import { InvitationService } from './invitation.service';
import { MemberService } from './member.service';
import { OrganizationService } from './organization.service';

const SERVICES = [
  OrganizationService,
  ApiKeyService,
  PlaygroundKeyService,
  ApiKeyReader,
  MemberService,
  InvitationService,
  AuditLogReader,
];

/** Administration of organizations, members and keys. The services expect an authorized caller. */
@Module({
  imports: [MailModule, SchedulingModule],
  providers: [apiKeyPepper, AuditRetention, ...SERVICES],
  exports: SERVICES,
})
export class OrganizationsModule {}
