/** The usage of the organization of `TwoUpstreams`, as a viewer sees it. */
import type { UsageReceipt, UsageRequestList, UsageSeries } from '../../../../src/contract/dashboard';
import { UsageSweeps } from '../../../../src/billing/usage/usage-sweeps';
import type { DashboardClient } from '../../../harness/dashboard-client';
import type { CallReply } from '../../../harness/gateway';
import { TwoUpstreams } from '../../routing/two-upstreams';

export class UsageWorld {
  viewer!: DashboardClient;

  private constructor(readonly upstreams: TwoUpstreams) {}

  static async start(environment: Record<string, string> = {}): Promise<UsageWorld> {
    return new UsageWorld(await TwoUpstreams.start(environment));
  }

  /** A new customer without any usage. */
  async reset(): Promise<void> {
    await this.upstreams.reset();
    const { organizationId } = this.upstreams.customer;
    this.viewer = await this.upstreams.gateway.dashboardUser({ role: 'viewer', organizationId });
  }

  get(below: string): Promise<CallReply> {
    return this.viewer.call(this.viewer.path(`/usage${below}`));
  }

  async list(query = ''): Promise<UsageRequestList> {
    return (await this.get(`/requests${query}`)).json;
  }

  async receiptOf(reply: CallReply): Promise<UsageReceipt> {
    return (await this.get(`/requests/${idOf(reply)}`)).json;
  }

  async series(query = ''): Promise<UsageSeries> {
    return (await this.get(`/series${query}`)).json;
  }

  async fold(): Promise<void> {
    await this.upstreams.gateway.app.get(UsageSweeps, { strict: false }).roll();
  }

  stop(): Promise<void> {
    return this.upstreams.stop();
  }
}

export function idOf(reply: CallReply): string {
  return reply.headers.get('x-request-id') as string;
}

export function sumOf(parts: readonly { readonly cost_micro: number }[]): number {
  return parts.reduce((sum, part) => sum + part.cost_micro, 0);
}
