import type { AppConfig } from '../config/app-config';

/** Dashboard pages linked from mails. */
export type LinkedPage = 'verify-email' | 'reset-password' | 'accept-invitation';

/** Wildcard listen addresses, which are not usable in links. */
const EVERY_INTERFACE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * A link into the dashboard. The token is in the fragment, which browsers never send: neither to a server, whose log
 * would keep it, nor in a `Referer`.
 */
export function dashboardLink(config: Pick<AppConfig, 'dashboard' | 'http'>, page: LinkedPage, token: string): string {
  return `${dashboardAddress(config)}/${page}#token=${token}`;
}

/** The public URL of the dashboard, without a trailing slash. */
export function dashboardAddress({ dashboard, http }: Pick<AppConfig, 'dashboard' | 'http'>): string {
  return dashboard.url ?? `${gatewayAddress(http)}/dashboard`;
}

/** The public URL of the gateway, without a trailing slash. */
export function gatewayAddress({ publicBaseUrl, host, port }: AppConfig['http']): string {
  if (publicBaseUrl !== null) return publicBaseUrl;
  const reachable = EVERY_INTERFACE.has(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
