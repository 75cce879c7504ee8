import { Body, Controller, Delete, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { LoginService } from './login.service';
import { SessionService } from './session.service';
import { UserService } from './user.service';
import type { Login, UserSessionList } from '../../contract/dashboard';
import { Session } from '../../core/http/route.decorators';
import { Caller, type DashboardCaller } from '../session/caller';
import { SessionCookie } from '../session/session-cookie';
import { LoginRequestDto } from './dto/account.dto';
import { toLoginReply, toSessionListReply } from './to-account-reply';
import { Visitor, type DashboardVisitor } from './visitor';
import { strictDto } from '../../core/validation/strict-dto.pipe';

/** Login, logout and the user's sessions. */
@Controller('dashboard/api')
export class SessionController {
  constructor(
    private readonly logins: LoginService,
    private readonly sessions: SessionService,
    private readonly users: UserService,
    private readonly cookie: SessionCookie,
  ) {}

  @Post('login')
  @HttpCode(200)
  @Session('anonymous')
  async createSession(
    @Body(strictDto) { email, password }: LoginRequestDto,
    @Visitor() { origin, actor }: DashboardVisitor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Login> {
    const login = await this.logins.login(email, password, origin, actor);
    this.cookie.write(reply, login.session.token, login.session.expiresAt);
    return toLoginReply(login);
  }

  @Post('logout')
  @HttpCode(204)
  @Session('user')
  async endSession(
    @Caller() { userId, sessionId, actor }: DashboardCaller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.users.endSession(userId, sessionId, actor);
    this.cookie.clear(reply);
  }

  @Get('sessions')
  @Session('user')
  async listSessions(@Caller() { userId, sessionId }: DashboardCaller): Promise<UserSessionList> {
    return toSessionListReply(await this.sessions.list(userId), sessionId);
  }

  @Delete('sessions/:session_id')
  @HttpCode(204)
  @Session('user')
  async deleteSession(
    @Caller() { userId, actor }: DashboardCaller,
    @Param('session_id') sessionId: string,
  ): Promise<void> {
    await this.users.endSession(userId, sessionId, actor);
  }
}
