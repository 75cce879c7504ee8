import { UpstreamHttp } from '../../kit/upstream-http';

/** Connection pools to keep, one for each host that the vendor names. The vendor has a handful of hosts. */
const MAX_HOSTS = 16;

/** An address that the vendor named, and the pool of its host. */
export interface NamedEndpoint {
  readonly http: UpstreamHttp;
  readonly target: string;
}

/**
 * The hosts of a vendor whose replies contain URLs at its other hosts, such as `api.us2.example.com`. The key goes only
 * to the host of the base URL and to subdomains of the vendor's domain. If the base URL is a proxy, the key does not go
 * to the hosts beside the proxy, such as others below `co.uk`, because they belong to other owners.
 */
export class RegionalHosts {
  readonly main: UpstreamHttp;
  private readonly others = new Map<string, UpstreamHttp>();

  constructor(
    private readonly baseUrl: URL,
    private readonly domain: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    this.main = new UpstreamHttp({ baseUrl, headers });
  }

  /** `null` unless the address has the origin of the base URL, or is at a subdomain of the vendor over HTTPS. */
  locate(address: unknown): NamedEndpoint | null {
    if (typeof address !== 'string' || !URL.canParse(address)) return null;
    const url = new URL(address);
    if (url.username !== '' || url.password !== '') return null;
    const target = url.pathname + url.search;
    if (url.origin === this.baseUrl.origin) return { http: this.main, target };
    if (url.protocol !== 'https:' || url.port !== '' || !url.hostname.endsWith(`.${this.domain}`)) return null;
    return { http: this.poolOf(url.origin), target };
  }

  private poolOf(origin: string): UpstreamHttp {
    const known = this.others.get(origin);
    if (known !== undefined) return known;
    const created = new UpstreamHttp({ baseUrl: new URL(origin), headers: this.headers });
    const [oldest] = this.others.keys();
    if (this.others.size >= MAX_HOSTS && oldest !== undefined) {
      void this.others.get(oldest)?.drain();
      this.others.delete(oldest);
    }
    this.others.set(origin, created);
    return created;
  }

  async drain(): Promise<void> {
    await Promise.all([this.main, ...this.others.values()].map((http) => http.drain()));
  }

  async close(): Promise<void> {
    await Promise.all([this.main, ...this.others.values()].map((http) => http.close()));
  }
}
