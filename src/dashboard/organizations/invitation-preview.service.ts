import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { digestToken, hasTokenShape } from '../../core/secrets/secret-token';
import { CLOCK, type Clock } from '../../core/time/clock';
import { invitationLogOfAddress } from '../accounts/attempt-logs';
import { AttemptThrottle } from '../../auth/rate-limits/attempt-throttle';
import { findOffer, type OfferedInvitation } from './invitation.repository';
import { invitationNotFound } from './invitation.service';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';

/** Shows invitations to holders of their tokens, who may not have an account yet. Limits guesses like failed logins. */
@Injectable()
export class InvitationPreviewService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly throttle: AttemptThrottle,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'dashboard'>,
  ) {}

  /**
   * @param address of the caller; `null`: unknown.
   * @throws GatewayError `not_found` as accepting the invitation does; `rate_limited` after too many wrong tokens.
   */
  async preview(token: string, address: string | null): Promise<OfferedInvitation> {
    const logs = [invitationLogOfAddress(address, this.config.dashboard.attemptsPerAddress)];
    const attempt = await this.throttle.take(logs);
    const offer = await this.find(token).catch(async (error: unknown) => {
      // The caller has learned nothing, so this was not an attempt.
      await this.throttle.giveBack(attempt, logs);
      throw error;
    });
    if (offer === null) throw invitationNotFound();
    await this.throttle.giveBack(attempt, logs);
    return offer;
  }

  private async find(token: string): Promise<OfferedInvitation | null> {
    if (!hasTokenShape(token)) return null;
    return findOffer(this.dataSource.manager, digestToken(token), new Date(this.clock.now()));
  }
}
