import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeUpstream } from '../conformance/fake-upstream';
import { FalUpstream } from '../conformance/fal-upstream';
import { MP3, playJobs } from '../conformance/job-upstream';
import { REPLICATE_JOB_MAPPINGS, REPLICATE_JOBS } from '../conformance/job-vendors';
import { ELEVENLABS_MUSIC } from '../conformance/music-vendors';
import { PublicHost, respondWith } from '../harness/public-host';
import { createCatalog } from '../harness/upstream-models';
import { endWorkers, type WorkerProcess } from '../harness/worker-process';
import { allowedMs, FULL, report, until } from './figures';
import { JobFixture, KILLED_WORKERS, RECOVERY_MS } from './job-fixture';
import { JobStop, type Step } from './job-stop';

/** The end of a job whose worker dies, and how often its vendor has been asked for it. */
const SUCCEEDED = ['succeeded', 1] as const;
const NEVER_SENT = ['failed', 0] as const;
/** Its vendor may be working on it, and would charge for a second one. */
const OUTCOME_UNKNOWN = ['failed', 1] as const;
type Ending = typeof SUCCEEDED | typeof NEVER_SENT | typeof OUTCOME_UNKNOWN;

interface Death {
  readonly step: Step;
  readonly outcome: 'rolled back' | 'committed';
  /** Of jobs in the queue of a vendor. */
  readonly queued: Ending;
  /** Of jobs whose vendor answers with the result; `null`: they do not have this step. */
  readonly answered: Ending | null;
}

/** The short form takes every other one. */
const DEATHS: readonly Death[] = [
  { step: 'claim', outcome: 'rolled back', queued: SUCCEEDED, answered: SUCCEEDED },
  { step: 'claim', outcome: 'committed', queued: SUCCEEDED, answered: SUCCEEDED },
  { step: 'begin of the submission', outcome: 'committed', queued: NEVER_SENT, answered: NEVER_SENT },
  { step: 'begin of the submission', outcome: 'rolled back', queued: SUCCEEDED, answered: SUCCEEDED },
  { step: 'handle', outcome: 'rolled back', queued: OUTCOME_UNKNOWN, answered: null },
  { step: 'handle', outcome: 'committed', queued: SUCCEEDED, answered: null },
  { step: 'poll', outcome: 'committed', queued: SUCCEEDED, answered: null },
  { step: 'poll', outcome: 'rolled back', queued: SUCCEEDED, answered: null },
  { step: 'begin of finalizing', outcome: 'rolled back', queued: SUCCEEDED, answered: OUTCOME_UNKNOWN },
  { step: 'begin of finalizing', outcome: 'committed', queued: SUCCEEDED, answered: OUTCOME_UNKNOWN },
  { step: 'end', outcome: 'committed', queued: SUCCEEDED, answered: SUCCEEDED },
  { step: 'end', outcome: 'rolled back', queued: SUCCEEDED, answered: OUTCOME_UNKNOWN },
];

const REPLICATE_MODEL = {
  id: 'local/replicate-music',
  display_name: 'Music at Replicate',
  modality: 'music',
  input_modalities: ['text'],
  output_modalities: ['audio'],
  media: { durations: { min: 1, max: 60, step: 1 } },
  deployments: [{ provider: 'replicate', upstream_model: 'owner/music', ...REPLICATE_JOB_MAPPINGS.music }],
  prices: [
    { effective_from: '2026-01-01', source: 'test', checked_at: '2026-01-01', music: { per_job_micro: 50_000 } },
  ],
};

/** A model of each vendor, with the price of what its stand-in delivers: two seconds at ElevenLabs. */
const MODELS = {
  fal: { model: 'stability/stable-audio-2.5', priceMicro: 200_000 },
  replicate: { model: REPLICATE_MODEL.id, priceMicro: 50_000 },
  elevenlabs: { model: 'elevenlabs/music-v2', priceMicro: 23_127 },
} as const;
type Vendor = keyof typeof MODELS;

interface Job {
  readonly id: string;
  readonly vendor: Vendor;
  /** In its prompt alone. */
  readonly tag: string;
  readonly ending: Ending;
}

const JOBS_PER_VENDOR = FULL ? 5 : 2;

interface Round extends Pick<Death, 'step' | 'outcome'> {
  readonly orders: readonly { readonly vendor: Vendor; readonly ending: Ending; readonly count: number }[];
}

/** The short form takes one vendor with a queue: these steps are the same for all of them. */
const skipsLateSteps = (vendor: Vendor): boolean => !FULL && vendor === 'replicate';

/**
 * Vendors take different times, and a stopped job keeps connections of its worker: the late steps are one vendor at a
 * time. Of the last one a single job, since those of one account end one after the other.
 */
function roundsOf({ step, outcome, queued, answered }: Death): Round[] {
  const isLate = step === 'end' || step === 'begin of finalizing';
  const endings = { fal: queued, replicate: queued, elevenlabs: answered };
  const orders = (Object.keys(endings) as Vendor[]).flatMap((vendor) => {
    const ending = endings[vendor];
    return ending === null || (isLate && skipsLateSteps(vendor))
      ? []
      : [{ vendor, ending, count: step === 'end' ? 1 : JOBS_PER_VENDOR }];
  });
  return isLate ? orders.map((order) => ({ step, outcome, orders: [order] })) : [{ step, outcome, orders }];
}

describe('kill -9 of a worker with jobs at vendors that deduplicate no submissions', () => {
  let fixture: JobFixture;
  let files: PublicHost;
  let catalog: ReturnType<typeof createCatalog>;
  let elevenLabsIsSilent = false;
  const certificate = join(tmpdir(), `vendor-files-${randomUUID()}.pem`);
  const upstreams = {} as Record<Vendor, FakeUpstream>;

  beforeAll(async () => {
    files = await PublicHost.start();
    files.answer = (response) => respondWith(response, MP3, 'audio/mpeg');
    writeFileSync(certificate, files.certificate);
    for (const vendor of Object.keys(MODELS) as Vendor[]) upstreams[vendor] = await FakeUpstream.start();
    const fal = new FalUpstream();
    fal.questionsToEnd = 2;
    fal.end = { result: { audio: { url: files.url('/song.mp3') } } };
    upstreams.fal.answer = fal.answer;
    upstreams.replicate.answer = playJobs(REPLICATE_JOBS, files.url(''));
    upstreams.elevenlabs.answer = (response, request) => {
      if (!elevenLabsIsSilent) ELEVENLABS_MUSIC(response, request);
    };
    catalog = createCatalog([REPLICATE_MODEL]);
    fixture = await JobFixture.start({
      ...KILLED_WORKERS,
      CATALOG_DIR: catalog.path,
      FAL_KEY: 'fal-test-1234',
      FAL_BASE_URL: upstreams.fal.origin,
      REPLICATE_API_KEY: 'r8-test-1234',
      REPLICATE_BASE_URL: `${upstreams.replicate.origin}/v1`,
      ELEVENLABS_API_KEY: 'elevenlabs-test-1234',
      ELEVENLABS_BASE_URL: `${upstreams.elevenlabs.origin}/v1`,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: certificate,
    });
  }, 300_000);
  afterEach(endWorkers);
  afterAll(async () => {
    await fixture.stop();
    catalog.remove();
    rmSync(certificate);
    await Promise.all([files, ...Object.values(upstreams)].map((server) => server.stop()));
  });

  it('at each step submits no job twice, and charges each result once and nothing else (F-06b)', async () => {
    const deaths = (FULL ? DEATHS : DEATHS.filter((_, index) => index % 2 === 0)).flatMap(roundsOf);
    let worker = await fixture.startWorker();
    let jobs = 0;
    for (const { step, outcome, orders } of deaths) {
      const stop = await JobStop.at(step, fixture.database.url);
      const submitted: Job[] = [];
      for (const { vendor, ending, count } of orders) submitted.push(...(await submit(vendor, ending, count)));
      await stop.reached(submitted.length);
      await worker.kill();
      await stop.end(outcome);
      worker = await fixture.startWorker();
      await fixture.allEnded(idsOf(submitted), allowedMs(RECOVERY_MS));
      expect({ step, outcome, jobs: await endingsOf(submitted) }).toEqual({ step, outcome, jobs: expected(submitted) });
      await assertCharged(submitted);
      jobs += submitted.length;
    }
    report('F-06b', { deaths: deaths.length, jobs, submissionsPerJob: 1 });
  }, 900_000);

  it('while a vendor makes the result leaves a job that is not submitted again, nor charged', async () => {
    elevenLabsIsSilent = true;
    const worker: WorkerProcess = await fixture.startWorker();
    const jobs = await submit('elevenlabs', OUTCOME_UNKNOWN, JOBS_PER_VENDOR);
    await until('the submissions', 20_000, () => jobs.every((job) => submissionsOf(job) === 1));
    await worker.kill();
    elevenLabsIsSilent = false;
    await fixture.startWorker();
    await fixture.allEnded(idsOf(jobs), allowedMs(RECOVERY_MS));
    expect(await endingsOf(jobs)).toEqual(expected(jobs));
    await assertCharged(jobs);
  }, 300_000);

  function submit(vendor: Vendor, ending: Ending, count: number): Promise<Job[]> {
    const submissions = Array.from({ length: count }, async () => {
      const tag = randomUUID();
      const { model } = MODELS[vendor];
      const fields = { model, prompt: `a waltz ${tag}`, duration_seconds: 3, format: undefined };
      return { id: await fixture.submit('', fields), vendor, tag, ending };
    });
    return Promise.all(submissions);
  }

  const idsOf = (jobs: readonly Job[]): string[] => jobs.map(({ id }) => id);
  const expected = (jobs: readonly Job[]) => jobs.map(({ vendor, ending }) => [vendor, ...ending]);
  const submissionsOf = ({ vendor, tag }: Job): number =>
    upstreams[vendor].received.filter(({ method, body }) => method === 'POST' && body.includes(tag)).length;

  async function endingsOf(jobs: readonly Job[]) {
    const statuses = await fixture.statuses(idsOf(jobs));
    return jobs.map((job) => [job.vendor, statuses.get(job.id), submissionsOf(job)]);
  }

  async function assertCharged(jobs: readonly Job[]): Promise<void> {
    const paid = jobs.filter(({ ending }) => ending === SUCCEEDED);
    expect(await fixture.accounts(idsOf(jobs))).toMatchObject({
      succeeded: paid.length,
      charges: paid.length,
      charged: paid.reduce((sum, { vendor }) => sum + MODELS[vendor].priceMicro, 0),
      artifacts: paid.length,
      objects: paid.length,
      held: 0,
    });
  }
});
