import { Injectable, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, CronExpression } from '@nestjs/schedule';
import { storageUnavailable } from '../storage/storage-failure';
import { logFailure, scheduled, SchedulingModule } from './scheduling.module';

describe('SchedulingModule', () => {
  it('runs a task at startup, and on shutdown waits for the current run before connections are closed', async () => {
    const events: string[] = [];
    const release = Promise.withResolvers<void>();

    @Injectable()
    class Sweeps {
      @Cron(CronExpression.EVERY_YEAR, scheduled('test'))
      async sweep(): Promise<void> {
        events.push('begun');
        await release.promise;
        events.push('ended');
      }

      onModuleDestroy(): void {
        events.push('stopping');
        release.resolve();
      }

      onApplicationShutdown(): void {
        events.push('connections closed');
      }
    }

    @Module({ imports: [SchedulingModule], providers: [Sweeps] })
    class TestModule {}

    const app = await NestFactory.createApplicationContext(TestModule, { logger: false, abortOnError: false });
    expect(events).toEqual(['begun']);
    await app.close();
    expect(events).toEqual(['begun', 'stopping', 'ended', 'connections closed']);
  });
});

const ABOUT = { event: 'ledger_archive_failed', message: 'a day of the ledger could not be archived' };

describe('the log line of failed scheduled work', () => {
  it.each([
    ['the reason behind an answer for clients', storageUnavailable(new Error('NoSuchBucket')), 'Error: NoSuchBucket'],
    ['any other error', new TypeError('oops'), 'TypeError: oops'],
  ])('contains %s', async (_what, error, failure) => {
    const logger = new Logger();
    const warn = jest.spyOn(logger, 'warn').mockReturnValue(undefined);
    await logFailure(logger, ABOUT, () => Promise.reject(error));
    expect(warn.mock.calls).toEqual([[{ ...ABOUT, failure }]]);
  });
});
