import type { AppConfig } from '../config/app-config';

/** Pages of the dashboard that mails lead to. */
export type LinkedPage = 'verify-email' | 'reset-password' | 'accept-invitation';

/** Addresses to listen on that are none to go to. */
const EVERY_INTERFACE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * A link into the dashboard. The token is in the fragment, which browsers send nowhere: neither to a server, whose log
 * would keep it, nor in a `Referer`.
 */
export function dashboardLink(config: Pick<AppConfig, 'dashboard' | 'http'>, page: LinkedPage, token: string): string {
  return `${dashboardAddress(config)}/${page}#token=${token}`;
}

/** Where people reach the dashboard, without a trailing slash. */
export function dashboardAddress({ dashboard, http }: Pick<AppConfig, 'dashboard' | 'http'>): string {
  return dashboard.url ?? `${gatewayAddress(http)}/dashboard`;
}

/** Where clients reach the gateway, without a trailing slash. */
export function gatewayAddress({ publicBaseUrl, host, port }: AppConfig['http']): string {
  if (publicBaseUrl !== null) return publicBaseUrl;
  const reachable = EVERY_INTERFACE.has(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
