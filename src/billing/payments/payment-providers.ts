import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import type { PaymentProviderName } from '../../core/database/entities/purchase.entity';
import { dashboardAddress, gatewayAddress } from '../../core/mail/dashboard-link';
import type { PaymentProvider } from './payment-provider';
import { StripeProvider } from './stripe-provider';
import { TestProvider } from './test-provider';

/** The configured providers. Stripe's events are accepted as long as its keys are set, whichever provider sells now. */
@Injectable()
export class PaymentProviders {
  readonly stripe: PaymentProvider | null;
  readonly test: TestProvider | null;
  private readonly selling: AppConfig['payments']['provider'];

  constructor(@Inject(APP_CONFIG) config: AppConfig, @Inject(CLOCK) clock: Clock) {
    const { provider, stripe } = config.payments;
    this.selling = provider;
    this.stripe = stripe === null ? null : new StripeProvider(stripe, dashboardAddress(config), clock);
    this.test = provider === 'test' ? new TestProvider(gatewayAddress(config.http)) : null;
  }

  get canSell(): boolean {
    return this.selling !== 'none';
  }

  /** The provider of new purchases. @throws GatewayError `not_configured`. */
  requireSeller(): PaymentProvider {
    if (this.selling === 'none') throw notConfigured();
    return this.require(this.selling);
  }

  /** @throws GatewayError `not_configured`. */
  require(name: PaymentProviderName): PaymentProvider {
    const provider = this[name];
    if (provider === null) throw notConfigured();
    return provider;
  }
}

function notConfigured(): GatewayError {
  return new GatewayError('not_configured', 'Payments are not configured on this server.');
}
