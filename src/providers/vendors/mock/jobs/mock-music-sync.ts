import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { JobCapabilities, JobOutput, JobSpec, SyncJobAdapter } from '../../../contract/media-job';
import type { ProviderCall } from '../../../contract/provider-call';
import { CallTimer } from '../call-timer';
import { acceptJob, withProviderErrors } from './accept-job';
import { errorOf, makeOutput, planJob, runMsOf, usageOf } from './job-record';
import type { JobProviderOptions } from './mock-jobs';

/** Music from a provider that returns the file itself, after the scripted time. */
export class MockMusicSync implements SyncJobAdapter {
  readonly mode = 'sync';
  readonly capabilities: JobCapabilities;

  constructor(private readonly options: JobProviderOptions) {
    this.capabilities = options.capabilities;
  }

  make(spec: JobSpec, call: ProviderCall): ReturnType<SyncJobAdapter['make']> {
    return withProviderErrors(async () => {
      const { clock } = this.options;
      const timer = new CallTimer(call, clock);
      timer.check('connect');
      const { script, output } = planJob(spec);
      await acceptJob({ id: randomUUID(), token: call.requestId, script, output }, this.options, call);
      await timer.wait(runMsOf(script), 'first_token');
      if (script.fail !== undefined) throw errorOf(script.fail === 'timeout' ? 'expired' : 'failed', script);
      const outputs: JobOutput[] = [];
      for (let number = 0; number < (script.outputs ?? 1); number++) {
        outputs.push({ type: 'audio', url: null, bytes: await makeOutput(output, number) });
      }
      timer.check('first_token');
      return { state: 'succeeded', outputs, usage: usageOf(script) };
    });
  }

  open({ bytes = Buffer.alloc(0) }: JobOutput): Promise<Readable> {
    return Promise.resolve(Readable.from([bytes]));
  }
}
