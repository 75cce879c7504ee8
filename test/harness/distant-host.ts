import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { exceptTestServer } from './socket-watch';

/** Blocks its thread right after it listens: then only the kernel answers, with its queue of connections. */
const PROGRAM = `
  const { connect, createServer } = require('node:net');
  const { parentPort, workerData: { gate, behind } } = require('node:worker_threads');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const onward = connect(behind, '127.0.0.1');
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(gate), 0, 0);
  });`;
/** More than a queue of one holds. */
const QUEUED = 4;

/**
 * A way to a local server on which the first packet of a connection is lost, as over a bad network: the kernel repeats
 * it after a second.
 */
export class DistantHost {
  private constructor(
    private readonly worker: Worker,
    private readonly gate: Int32Array,
    private readonly queued: readonly Socket[],
    readonly port: number,
  ) {}

  /** @param behind port of the server on 127.0.0.1 */
  static async before(behind: number): Promise<DistantHost> {
    const gate = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const worker = new Worker(PROGRAM, { eval: true, workerData: { gate, behind } });
    const [port] = (await once(worker, 'message')) as [number];
    worker.unref();
    exceptTestServer(port);
    const queued = Array.from({ length: QUEUED }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await once(queued[0] as Socket, 'connect');
    return new DistantHost(worker, new Int32Array(gate), queued, port);
  }

  /** Packets arrive from now on. */
  comeNearer(): void {
    for (const socket of this.queued) socket.destroy();
    Atomics.store(this.gate, 0, 1);
    Atomics.notify(this.gate, 0);
  }

  async stop(): Promise<void> {
    this.comeNearer();
    await this.worker.terminate();
  }
}
