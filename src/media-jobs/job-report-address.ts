import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { resolveApiKeyPepper } from '../core/secrets/service-secrets';

const PATH = '/v1/job-reports/';
const PURPOSE = 'addresses for reports about jobs';
const KEY_BYTES = 32;

/** Identifies a submission of a job: `provider_token` in its row. */
const SUBMISSION = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})-\d{1,9}$/;

/** The submission that a valid address permits a report about. */
export interface ReportedSubmission {
  readonly jobId: string;
  readonly providerToken: string;
}

/**
 * The addresses at which providers report that a job may have ended. Each address is for one submission, and its
 * signature authorizes the report. Providers can only reach the gateway if `PUBLIC_BASE_URL` is https.
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
