import { Body, Controller, Get, HttpCode, Patch, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { UserService } from './user.service';
import type { CurrentUser } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { SessionCookie } from '../session/session-cookie';
import { PasswordChangeDto, UserUpdateDto } from './dto/account.dto';
import { toCurrentUserReply } from './to-account-reply';
import { Visitor, type DashboardVisitor } from './visitor';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** The account of the signed-in user. */
@Controller('dashboard/api/me')
export class CurrentUserController {
  constructor(
    private readonly users: UserService,
    private readonly cookie: SessionCookie,
  ) {}

  @Get()
  @Session('user')
  async getCurrentUser(@Caller() { userId }: DashboardCaller): Promise<CurrentUser> {
    return toCurrentUserReply(await this.users.require(userId), await this.users.findMemberships(userId));
  }

  @Patch()
  @Session('user')
  async updateCurrentUser(
    @Caller() { userId, actor }: DashboardCaller,
    @Body(strictDto) { name }: UserUpdateDto,
  ): Promise<CurrentUser> {
    return toCurrentUserReply(await this.users.rename(userId, name, actor), await this.users.findMemberships(userId));
  }

  @Post('password')
  @HttpCode(204)
  @Session('user')
  async changePassword(
    @Caller() { userId, actor }: DashboardCaller,
    @Body(strictDto) body: PasswordChangeDto,
    @Visitor() { origin }: DashboardVisitor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const passwords = { current: body.current_password, next: body.new_password };
    const session = await this.users.changePassword(userId, passwords, origin, actor);
    this.cookie.write(reply, session.token, session.expiresAt);
  }
}
