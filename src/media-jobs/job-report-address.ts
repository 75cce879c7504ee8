import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { resolveApiKeyPepper } from '../core/secrets/service-secrets';

const PATH = '/v1/job-reports/';
const PURPOSE = 'addresses for reports about jobs';
const KEY_BYTES = 32;

/** A submission of a job: `provider_token` of its row. */
const SUBMISSION = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})-\d{1,9}$/;

/** What a valid address authorizes a report about. */
export interface ReportedSubmission {
  readonly jobId: string;
  readonly providerToken: string;
}

/**
 * The addresses at which providers report that a job may have ended. Each is for one submission, and its signature is
 * the permission. Providers reach them only where `PUBLIC_BASE_URL` is https.
 */
@Injectable()
export class JobReportAddress {
  private readonly signingKey: Buffer;
  private readonly baseUrl: string | null;

  constructor(@Inject(APP_CONFIG) config: Pick<AppConfig, 'http' | 'apiKeyPepper' | 'dataDir'>) {
    this.signingKey = Buffer.from(hkdfSync('sha256', resolveApiKeyPepper(config), '', PURPOSE, KEY_BYTES));
    const { publicBaseUrl } = config.http;
    this.baseUrl = publicBaseUrl?.startsWith('https://') === true ? publicBaseUrl : null;
  }

  /** `undefined`: providers cannot reach this gateway. */
  of(providerToken: string): string | undefined {
    return this.baseUrl === null ? undefined : `${this.baseUrl}${PATH}${providerToken}.${this.sign(providerToken)}`;
  }

  /** @param text the last segment of an address. `null`: the gateway did not issue it. */
  read(text: string): ReportedSubmission | null {
    const end = text.lastIndexOf('.');
    const providerToken = text.slice(0, Math.max(0, end));
    const jobId = SUBMISSION.exec(providerToken)?.[1];
    if (jobId === undefined) return null;
    const given = Buffer.from(text.slice(end + 1));
    const expected = Buffer.from(this.sign(providerToken));
    const isValid = given.length === expected.length && timingSafeEqual(given, expected);
    return isValid ? { jobId, providerToken } : null;
  }

  private sign(providerToken: string): string {
    return createHmac('sha256', this.signingKey).update(providerToken).digest('base64url');
  }
}
