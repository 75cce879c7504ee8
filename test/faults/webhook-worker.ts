import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { loadConfig } from '../../src/config/load-config';
import { WorkerModule } from '../medium/webhooks/worker-module';

/** A process that delivers webhooks and does nothing else, until SIGTERM. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(loadConfig()), { logger: ['error'] });
  // Nest's timers do not keep a process alive that listens to nobody.
  const alive = setInterval(() => undefined, 60_000);
  process.once('SIGTERM', () => void app.close().then(() => clearInterval(alive)));
  process.stdout.write('delivering\n');
}

void main();
