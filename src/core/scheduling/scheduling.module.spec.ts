import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, CronExpression } from '@nestjs/schedule';
import { scheduled, SchedulingModule } from './scheduling.module';

describe('SchedulingModule', () => {
  it('runs a task at startup, and on shutdown waits for the run under way before connections are closed', async () => {
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
