/** nginx in front of gateways, with its default upstream settings: HTTP/1.0 and `Connection: close`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort, ManagedChild } from './child-process';

export const NGINX_IS_INSTALLED = spawnSync('nginx', ['-v']).status === 0;

const START_ATTEMPTS = 5;
const POLL_MS = 20;

export interface RunningNginx {
  readonly port: number;
  stop(): Promise<void>;
}

/** @param requestBuffering whether nginx receives a whole body before it connects to the gateway. */
export function startNginx(gatewayUrl: string, requestBuffering: boolean): Promise<RunningNginx> {
  return start([gatewayUrl], `proxy_request_buffering ${requestBuffering ? 'on' : 'off'};`);
}

/**
 * Balances between gateways. One that refuses a request with 503 has not begun it: another one gets it. Without
 * `max_fails=0`, nginx would avoid it for ten seconds, and have none left when the next one is replaced.
 */
export function startBalancer(gatewayUrls: readonly string[]): Promise<RunningNginx> {
  return start(gatewayUrls, 'proxy_next_upstream error http_503 non_idempotent; proxy_buffering off;');
}

async function start(gatewayUrls: readonly string[], settings: string): Promise<RunningNginx> {
  const directory = mkdtempSync(join(tmpdir(), 'nginx-'));
  mkdirSync(join(directory, 'logs'));
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const file = join(directory, 'nginx.conf');
    writeFileSync(file, configuration(directory, port, gatewayUrls, settings));
    const child = new ManagedChild({
      command: 'nginx',
      args: ['-p', directory, '-c', file, '-e', join(directory, 'error.log')],
      options: { cwd: directory },
      stopSignal: 'SIGTERM',
    });
    if (await accepts(port, child)) {
      const stop = async (): Promise<void> => {
        await child.end();
        rmSync(directory, { recursive: true, force: true });
      };
      return { port, stop };
    }
    // Another process may have taken the port in the meantime.
    if (attempt === START_ATTEMPTS) throw new Error(`nginx does not start:\n${child.output}`);
  }
}

function configuration(directory: string, port: number, gatewayUrls: readonly string[], settings: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
    daemon off;
    master_process off;
    pid ${directory}/nginx.pid;
    events { worker_connections 4096; }
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
      upstream gateways {
        ${gatewayUrls.map((url) => `server ${new URL(url).host} max_fails=0;`).join('\n')}
      }
      server {
        listen 127.0.0.1:${port};
        client_max_body_size 0;
        location / {
          proxy_pass http://gateways;
          ${settings}
        }
      }
    }`;
}

async function accepts(port: number, child: ManagedChild): Promise<boolean> {
  while (!child.hasExited) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('error', () => resolve(false));
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
    });
    if (isOpen) return true;
    await delay(POLL_MS);
  }
  return false;
}
