import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { ArtifactProbe } from '../../core/media/media-probes';
import { OutboundClient } from '../../core/outbound/outbound-client';
import { OutboundError } from '../../core/outbound/outbound-error';
import type { JobAdapter, JobOutput } from '../../providers/contract/media-job';
import type { ProviderCall } from '../../providers/contract/provider-call';
import { ProviderError } from '../../providers/contract/provider-error';
import { inStep, type RequestTrace } from '../../core/types/trace';
import { StoredObjects } from '../../core/storage/stored-objects';
import type { MediaJob, NewArtifact } from '../media-job.types';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { LocalFileError, TemporaryFile, TooManyBytesError } from './temporary-file';

/**
 * `unobtainable`: the host responded that it does not deliver the result. `unreachable`: there was no response, or one
 * that may change.
 */
type ResultFault = 'unobtainable' | 'unreachable' | 'unreadable' | 'too-large';

/** The provider's result cannot be fetched or is not valid. */
export class ResultError extends Error {
  override readonly name = 'ResultError';

  constructor(
    readonly fault: ResultFault,
    options?: ErrorOptions,
  ) {
    super(`The result of the provider is ${fault}.`, options);
  }
}

const WEB_URL = /^https?:/i;

/** The adapter and call with which a result is fetched. */
export interface OutputSource {
  readonly adapter: JobAdapter;
  readonly call: ProviderCall;
}

/**
 * Stores a provider's result: streams it to an unlinked temporary file, probes the file and uploads it to object
 * storage under a deterministic name. The result is never in memory as a whole, and the intake can be repeated.
 */
@Injectable()
export class ArtifactIntake {
  private readonly maxBytes: number;

  constructor(
    private readonly outbound: OutboundClient,
    private readonly probe: ArtifactProbe,
    private readonly objects: StoredObjects,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.maxBytes = worker.maxArtifactBytes;
  }

  /**
   * @param index position of the output among those of its job
   * @throws ResultError, or an error of the gateway's own disk, storage or database, which may be transient
   */
  async take(
    job: MediaJob,
    index: number,
    output: JobOutput,
    source: OutputSource,
    trace: RequestTrace | null,
  ): Promise<NewArtifact> {
    const file = await TemporaryFile.create();
    try {
      await inStep(trace, 'download', () => this.download(file, output, source), { kind: 'client' });
      const probed = await this.probe.probe(file);
      if (probed === null || probed.type !== output.type) throw new ResultError('unreadable');
      const { kind, organizationId, id } = job;
      const owner = { kind, organizationId, id };
      const stored = await this.objects.store({
        ...owner,
        index,
        contentType: probed.contentType,
        body: file.read(),
        trace,
      });
      return { ...probed, sizeBytes: stored.sizeBytes, storageKey: stored.key };
    } finally {
      await file.close();
    }
  }

  private async download(file: TemporaryFile, output: JobOutput, { adapter, call }: OutputSource): Promise<void> {
    const time = AbortSignal.timeout(this.options.artifactTimeoutMs);
    const signal = AbortSignal.any([call.signal, time]);
    try {
      const body = await this.openOutput(output, adapter, { ...call, signal });
      const stop = (): void => void body.destroy(new ResultError('unreachable'));
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      try {
        await file.fill(body, this.maxBytes);
      } finally {
        signal.removeEventListener('abort', stop);
      }
    } catch (error) {
      if (error instanceof LocalFileError || call.signal.aborted) throw error;
      throw new ResultError(faultOf(error), { cause: error });
    }
  }

  /**
   * An `http(s)` URL always goes through the SSRF guard, with the vendor's credential for its own hosts; anything else
   * is read by the provider's adapter.
   */
  private async openOutput(output: JobOutput, adapter: JobAdapter, call: ProviderCall): Promise<Readable> {
    if (output.bytes !== undefined) return Readable.from([output.bytes]);
    if (output.url === null || !WEB_URL.test(output.url)) {
      if (adapter.openOutput === undefined) throw new ResultError('unobtainable');
      return adapter.openOutput(output, call);
    }
    const limits = { maxBytes: this.maxBytes, timeoutMs: this.options.artifactTimeoutMs };
    const credential = await adapter.downloadCredential?.(call);
    return (await this.outbound.fetchArtifact(output.url, limits, call.signal, credential)).body;
  }
}

/** A host that asks to wait, or that temporarily refuses the operator's key, may still have the result. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 408, 425, 429]);

function faultOf(error: unknown): ResultFault {
  if (error instanceof ResultError) return error.fault;
  if (error instanceof TooManyBytesError) return 'too-large';
  if (error instanceof OutboundError && error.fault !== 'failed') {
    return error.fault === 'too-large' ? 'too-large' : 'unobtainable';
  }
  const status = statusOf(error);
  return status === null || status >= 500 || TRANSIENT_STATUSES.has(status) ? 'unreachable' : 'unobtainable';
}

/** `null`: there was no response, or a credential was refused. */
function statusOf(error: unknown): number | null {
  if (error instanceof OutboundError) return error.status ?? null;
  if (!(error instanceof ProviderError) || error.options.credentialRefused === true) return null;
  return error.options.upstream?.status ?? null;
}
