import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { PaymentProviderName } from '../database/entities/purchase.entity';
import { dashboardAddress, gatewayAddress } from '../mail/dashboard-link';
import type { PaymentProvider } from './payment-provider';
import { StripeProvider } from './stripe-provider';
import { TestProvider } from './test-provider';

/** Those that are configured. Stripe's events are believed for as long as its keys are set, whoever sells now. */
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

  /** Who sells. @throws GatewayError `not_configured`. */
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
  return new GatewayError('not_configured', 'The operator of this service has not configured payments.');
}
