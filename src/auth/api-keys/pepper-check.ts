import { createHmac } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { API_KEY_PEPPER } from './api-key-pepper';

type Database = Pick<DataSource, 'query'>;

/** Its digest reveals nothing about the pepper of at least 32 characters, and no API key starts like this. */
const FINGERPRINTED = 'fingerprint of API_KEY_PEPPER';

/** The first gateway stores the fingerprint. */
const STORE = 'UPDATE deployment_identity SET pepper_fingerprint = $1 WHERE pepper_fingerprint IS NULL';
const READ = 'SELECT COALESCE(pepper_fingerprint = $1, true) AS is_accepted FROM deployment_identity';
const REPLACE = 'UPDATE deployment_identity SET pepper_fingerprint = $1';

/** Whether the API keys of this database were digested with this pepper; also true before a gateway has stored one. */
export async function isPepperOfKeys(database: Database, pepper: string): Promise<boolean> {
  const [row] = await database.query<{ is_accepted: boolean }[]>(READ, [fingerprintOf(pepper)]);
  return row?.is_accepted === true;
}

/** Accepts another pepper: keys that were digested with the former one stay refused. */
export async function replacePepper(database: Database, pepper: string): Promise<void> {
  await database.query(REPLACE, [fingerprintOf(pepper)]);
}

function fingerprintOf(pepper: string): string {
  return createHmac('sha256', pepper).update(FINGERPRINTED).digest('hex').slice(0, 32);
}

/**
 * Logs the cause when a changed pepper makes every digest mismatch, so that all older keys are refused. The process
 * still starts: operators may have to sign in, and keys created since the change work.
 */
@Injectable()
export class PepperCheck implements OnApplicationBootstrap {
  private readonly logger = new Logger('ApiKeys');

  constructor(
    private readonly dataSource: DataSource,
    @Inject(API_KEY_PEPPER) private readonly pepper: string,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.dataSource.query(STORE, [fingerprintOf(this.pepper)]);
    if (await isPepperOfKeys(this.dataSource, this.pepper)) return;
    this.logger.error({
      event: 'api_key_pepper_changed',
      message:
        'API_KEY_PEPPER has changed since API keys were created: these keys are refused with 401. ' +
        'Restore the earlier value, or run "gateway deployment accept-pepper" and create new keys',
    });
  }
}
