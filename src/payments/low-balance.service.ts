import { Injectable, Logger } from '@nestjs/common';
import type { Micro } from '../common/micro';
import { Mailer } from '../mail/mailer';
import { type LowBalance, LowBalanceRepository } from './low-balance.repository';

const logger = new Logger('LowBalance');

/** Tells owners and admins by mail that less is available than they wanted to have, once until credit is bought again. */
@Injectable()
export class LowBalanceService {
  constructor(
    private readonly balances: LowBalanceRepository,
    private readonly mailer: Mailer,
  ) {}

  /** Returns how many organizations were told. */
  async tell(): Promise<number> {
    await this.balances.rearm();
    let told = 0;
    for (let balance = await this.balances.claim(); balance !== null; balance = await this.balances.claim()) {
      // The mail server is away, most likely: the others are told in the next round.
      if (!(await this.mail(balance))) break;
      await this.balances.markTold(balance.organizationId);
      told++;
    }
    return told;
  }

  /** `false` when nobody could be told: another try follows. */
  private async mail(balance: LowBalance): Promise<boolean> {
    const { recipients } = balance;
    const sent = await Promise.allSettled(recipients.map((to) => this.mailer.send({ to, ...textOf(balance) })));
    const failures = sent.filter(({ status }) => status === 'rejected').length;
    if (failures > 0) logger.warn(`${failures} of ${sent.length} notices of a low balance could not be sent`);
    return failures < sent.length || sent.length === 0;
  }
}

function textOf({ organizationName, availableMicro, thresholdMicro }: LowBalance): {
  readonly subject: string;
  readonly text: string;
} {
  return {
    subject: `Low balance of ${organizationName}`,
    text: [
      `${toDollars(availableMicro)} is available to ${organizationName}, less than the ${toDollars(thresholdMicro)} that you`,
      'asked to be told of. When nothing is left, requests are refused with insufficient_credits.',
      '',
      'You will be told again after credit was added and the balance has fallen once more.',
      '',
    ].join('\n'),
  };
}

/** To the cent, rounded down. */
function toDollars(micro: Micro): string {
  const cents = micro / 10_000n;
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')} USD`;
}
