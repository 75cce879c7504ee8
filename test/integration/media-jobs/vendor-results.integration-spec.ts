/** What becomes of a job whose result its vendor has removed, for each vendor of videos. */
import { Logger } from '@nestjs/common';
import type { AsyncJobAdapter } from '../../../src/providers/contract/media-job';
import type { Provider } from '../../../src/providers/contract/provider';
import { type Answer, FakeUpstream } from '../../conformance/fake-upstream';
import { FalUpstream } from '../../conformance/fal-upstream';
import { FAULT_PROMPTS, MP4, playJobs } from '../../conformance/job-upstream';
import { type Subject, SUBJECTS } from '../../conformance/subjects';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { PublicHost, respondWith } from '../../harness/public-host';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, startJobEngine, submit } from './job-engine';
import { WorkerStage } from './worker-stage';

/** Of a vendor whose report contains the video: it has no file to remove. */
const REPORTS_FILES: ReadonlySet<string> = new Set(['vertex']);

const VENDORS = SUBJECTS.filter(({ jobVendor, mappedJobs }) => (jobVendor ?? mappedJobs) !== undefined).map(
  (subject) => [subject.definition.id, subject] as const,
);

let database: TestDatabase;
let engine: JobEngine;
let account: Account;
let files: PublicHost;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await startJobEngine(database.url);
  account = await createAccount(engine.money.pool);
  files = await PublicHost.start();
});
afterAll(async () => {
  await requireSoundBooks(engine.money);
  await Promise.all([files.stop(), engine.close()]);
  await database.drop();
});

describe.each(VENDORS)('a video of %s', (id, subject) => {
  let upstream: FakeUpstream;
  let stage: WorkerStage;
  let provider: Provider;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    const opened = subject.definition.create(subject.environment(upstream.origin));
    if (opened === null) throw new Error(`${id} is not configured`);
    provider = opened;
    // A setback counts at once.
    stage = new WorkerStage(engine, ['first'], { options: { setbackMs: 0 } });
    stage.adapters.set('first', adapterOf(subject, provider));
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await stage.close();
    await Promise.all([provider.close(), upstream.stop()]);
  });

  const play = () => playFor(subject, files.url(''));
  const start = async (prompt: string) =>
    stage.step(
      await submit(engine, account, {
        route: ['first'],
        params: { prompt, duration_seconds: 1 },
        settings: { durationSeconds: 1, resolution: '480p', aspectRatio: null, audio: false },
      }),
    );

  /** The end of the job, and the events for operators. */
  async function end(job: Awaited<ReturnType<typeof start>>) {
    const errors = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const { status, error, costMicro } = await stage.work(job, 12);
    const events = errors.mock.calls.map(([facts]) => (facts as { event: string }).event);
    return { status, code: error?.code, costMicro, events };
  }
  const LOST = { status: 'failed', code: 'provider_error', costMicro: 0n, events: ['job_result_lost'] };

  it('is stored and charged while the vendor has it', async () => {
    upstream.answer = play();
    files.answer = (response) => respondWith(response, MP4, 'video/mp4');
    expect(await end(await start(subject.jobPrompts?.done ?? ''))).toMatchObject({ status: 'succeeded', events: [] });
  });

  it('fails the job without a charge and tells the operator, once its file is removed', async () => {
    if (REPORTS_FILES.has(id)) return;
    const answer = play();
    upstream.answer = (response, request) => {
      if (request.url.endsWith('/content')) response.writeHead(410).end();
      else answer(response, request);
    };
    files.answer = (response) => response.writeHead(410).end();
    expect(await end(await start(subject.jobPrompts?.done ?? ''))).toEqual(LOST);
  });

  it('fails the job without a charge and tells the operator, once the vendor has forgotten it', async () => {
    upstream.answer = play();
    const job = await start(subject.jobPrompts?.done ?? '');
    upstream.answer = play();
    expect(await end(job)).toEqual(LOST);
  });

  it('fails the job without a charge and tells the operator, if the report of its success names no file', async () => {
    if (subject.jobVendor === undefined || subject.jobVendor.alwaysHasFile === true) return;
    upstream.answer = play();
    expect(await end(await start(FAULT_PROMPTS.noFile))).toEqual(LOST);
  });
});

/** A new vendor, which knows no job yet. */
function playFor({ jobVendor }: Subject, fileHost: string): Answer {
  if (jobVendor !== undefined) return playJobs(jobVendor, fileHost);
  const fal = new FalUpstream();
  fal.end = { result: { video: { url: `${fileHost}/result.mp4` } } };
  return fal.answer;
}

function adapterOf({ mappedJobs }: Subject, { video }: Provider): AsyncJobAdapter {
  const adapter = video as AsyncJobAdapter;
  const mapping = mappedJobs?.mappings.video;
  if (mapping === undefined) return adapter;
  return {
    mode: 'async',
    capabilities: adapter.capabilities,
    submit: (spec, token, call) => adapter.submit(spec, token, { ...call, mapping }),
    poll: (handle, call) => adapter.poll(handle, call),
  };
}
