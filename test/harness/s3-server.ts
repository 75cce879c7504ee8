import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `@20minutes/s3rver` has no types. */
interface S3rver {
  readonly httpServer: Server;
  run(): Promise<unknown>;
  close(): Promise<void>;
}
type S3rverClass = new (options: Record<string, unknown>) => S3rver;

const S3rver = require('@20minutes/s3rver') as S3rverClass;

/** A real server with the S3 API and one bucket, on a free port. It checks signatures and their time. */
export class S3Server {
  static readonly BUCKET = 'outputs';
  /** Its only valid key. */
  static readonly CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

  private constructor(
    private readonly server: S3rver,
    private readonly directory: string,
  ) {}

  static async start(): Promise<S3Server> {
    const directory = mkdtempSync(join(tmpdir(), 's3-server-'));
    const server = new S3rver({
      address: '127.0.0.1',
      port: 0,
      silent: true,
      directory,
      vhostBuckets: false,
      configureBuckets: [{ name: S3Server.BUCKET }],
    });
    await server.run();
    return new S3Server(server, directory);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.httpServer.address() as AddressInfo).port}`;
  }

  /**
   * Never answers the next upload of this part of an object, nor another attempt at it. Resolves once it has arrived
   * and the parts before it are stored.
   */
  holdPart(number: number): Promise<void> {
    const { httpServer } = this.server;
    const [answer] = httpServer.listeners('request') as RequestListener[];
    const held = Promise.withResolvers<void>();
    const there = new Set<number>();
    let heldUpload: string | null = null;
    const arrive = (part: number) => {
      if (part <= number && there.add(part).size === number) held.resolve();
    };
    httpServer.removeAllListeners('request').on('request', (request, response) => {
      const query = new URL(request.url ?? '', this.url).searchParams;
      const part = Number(query.get('partNumber'));
      if (part === number && query.get('uploadId') === (heldUpload ??= query.get('uploadId'))) return arrive(part);
      if (part > 0) response.once('finish', () => arrive(part));
      answer?.(request, response);
    });
    return held.promise;
  }

  async stop(): Promise<void> {
    this.server.httpServer.closeAllConnections();
    await this.server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
