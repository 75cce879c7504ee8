import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { loadConfig } from '../../src/core/config/load-config';
import { WorkerModule } from '../integration/webhooks/worker-module';

/** A process that only delivers webhooks, until SIGTERM. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(loadConfig()), { logger: ['error'] });
  // Nest's timers do not keep a process alive that has no listening socket.
  const alive = setInterval(() => undefined, 60_000);
  process.once('SIGTERM', () => void app.close().then(() => clearInterval(alive)));
  process.stdout.write('delivering\n');
}

void main();
