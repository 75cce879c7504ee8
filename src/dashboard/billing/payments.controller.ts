import { Controller, Get, Header, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { dashboardAddress } from '../../core/mail/dashboard-link';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import type { PaymentReceipt, Purchase } from '../../contract/dashboard';
import { KeepsRawBody, Session } from '../../core/http/route.decorators';
import { PaymentEventService } from '../../billing/payments/payment-event.service';
import { TEST_PAGE_POLICY, testPaymentPage } from './test-payment-page';
import { toPurchaseReply } from './billing-replies';

/** Stripe events contain whole objects. */
const MAX_EVENT_BYTES = 512 * 1024;

/** Events of payment providers, and the payment page of the test provider. */
@Controller('dashboard/api/payments')
export class PaymentsController {
  private readonly dashboardUrl: string;

  constructor(
    private readonly payments: PaymentEventService,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.dashboardUrl = dashboardAddress(config);
  }

  @Post('stripe/events')
  @HttpCode(200)
  @Session('machine', { maxBodyBytes: MAX_EVENT_BYTES })
  @KeepsRawBody()
  async receiveStripeEvent(@Req() request: FastifyRequest): Promise<PaymentReceipt> {
    if (request.rawBody === null)
      throw new GatewayError('invalid_json', 'The request body is empty. Send a Stripe event.');
    await this.payments.receive('stripe', request.rawBody, request.headers, actorOf(request));
    return { object: 'payment_receipt', received: true };
  }

  @Get('test/:purchase_id')
  @Session('anonymous')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', TEST_PAGE_POLICY)
  async getTestPayment(@Param('purchase_id') id: string): Promise<string> {
    return testPaymentPage(await this.payments.getTestPurchase(id), this.dashboardUrl);
  }

  @Post('test/:purchase_id')
  @HttpCode(200)
  @Session('anonymous')
  async payTestPurchase(@Param('purchase_id') id: string, @Req() request: FastifyRequest): Promise<Purchase> {
    return toPurchaseReply(await this.payments.payTestPurchase(id, actorOf(request)));
  }
}

/** An unauthenticated actor. */
function actorOf({ context }: FastifyRequest): Actor {
  return { kind: 'system', userId: null, address: context.clientAddress, requestId: context.requestId };
}
