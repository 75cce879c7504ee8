import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { PasswordResetService } from './password-reset.service';
import { RegistrationService } from './registration.service';
import type { Accepted, User } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import {
  EmailConfirmationDto,
  EmailRequestDto,
  PasswordResetConfirmationDto,
  RegistrationRequestDto,
} from './dto/account.dto';
import { toAcceptedReply, toUserReply } from './to-account-reply';
import { Visitor, type DashboardVisitor } from './visitor';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** Registration, e-mail verification and password reset: operations that need no session. */
@Controller('dashboard/api')
export class RegistrationController {
  constructor(
    private readonly registrations: RegistrationService,
    private readonly resets: PasswordResetService,
  ) {}

  @Post('register')
  @HttpCode(202)
  @Session('anonymous')
  async registerUser(
    @Body(strictDto) body: RegistrationRequestDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<Accepted> {
    const { organization_name: organizationName, invitation_token: invitationToken, ...person } = body;
    await this.registrations.register({ ...person, organizationName, invitationToken }, actor);
    return toAcceptedReply('registration');
  }

  @Post('email-verifications')
  @HttpCode(202)
  @Session('anonymous')
  async requestEmailVerification(
    @Body(strictDto) { email }: EmailRequestDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<Accepted> {
    await this.registrations.requestVerification(email, actor);
    return toAcceptedReply('email_verification');
  }

  @Post('email-verifications/confirm')
  @HttpCode(200)
  @Session('anonymous')
  async confirmEmailVerification(
    @Body(strictDto) { token }: EmailConfirmationDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<User> {
    return toUserReply(await this.registrations.confirm(token, actor));
  }

  @Post('password-resets')
  @HttpCode(202)
  @Session('anonymous')
  async requestPasswordReset(
    @Body(strictDto) { email }: EmailRequestDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<Accepted> {
    await this.resets.request(email, actor);
    return toAcceptedReply('password_reset');
  }

  @Post('password-resets/confirm')
  @HttpCode(204)
  @Session('anonymous')
  confirmPasswordReset(
    @Body(strictDto) { token, password }: PasswordResetConfirmationDto,
    @Visitor() { actor }: DashboardVisitor,
  ): Promise<void> {
    return this.resets.confirm(token, password, actor);
  }
}
