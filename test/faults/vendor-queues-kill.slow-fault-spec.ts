import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, FakeUpstream } from '../conformance/fake-upstream';
import { MP4, playJobs, VENDOR_PROMPTS } from '../conformance/job-upstream';
import { type Subject, SUBJECTS } from '../conformance/subjects';
import { PublicHost, respondWith } from '../harness/public-host';
import { createCatalog } from '../harness/upstream-models';
import { endWorkers } from '../harness/worker-process';
import { allowedMs, report, until } from './figures';
import { JobFixture, KILLED_WORKERS, RECOVERY_MS } from './job-fixture';
import { JobStop } from './job-stop';

const PRICE_MICRO = 70_000;
const MUSIC_TEXT = 'a waltz';
const VIDEO_TEXT = 'a lighthouse';

type Kind = 'video' | 'music';

interface Vendor {
  readonly id: string;
  readonly kind: Kind;
  readonly subject: Subject;
}

/** Every adapter with a wire format of its own; those that the catalogue maps are in `vendor-jobs-kill`. */
const VIDEO_VENDORS = vendorsOf('video', ({ jobVendor, mappedJobs }) => mappedJobs === undefined && jobVendor);
/** Their reply is the piece of music. */
const MUSIC_VENDORS = vendorsOf('music', ({ musicVendor }) => musicVendor);
const VENDORS = [...VIDEO_VENDORS, ...MUSIC_VENDORS];
/** Finds the job that it has accepted by the token of the gateway. */
const FINDS_BY_TOKEN = 'kling';
/** Its poll contains the file. */
const WITHOUT_DOWNLOAD = 'vertex';

function vendorsOf(kind: Kind, serves: (subject: Subject) => unknown): Vendor[] {
  return SUBJECTS.filter((subject) => Boolean(serves(subject))).map((subject) => ({
    id: subject.definition.id,
    kind,
    subject,
  }));
}

const modelOf = ({ id, kind }: Vendor): string => `local/${id}-${kind}`;

const toModel = (vendor: Vendor): object => ({
  id: modelOf(vendor),
  display_name: modelOf(vendor),
  modality: vendor.kind,
  input_modalities: ['text'],
  output_modalities: [vendor.kind === 'video' ? 'video' : 'audio'],
  media: { durations: { min: 1, max: 60 }, ...(vendor.kind === 'video' && { resolutions: ['720p'] }) },
  deployments: [{ provider: vendor.id, upstream_model: 'm-1' }],
  prices: [
    {
      effective_from: '2026-01-01',
      source: 'test',
      checked_at: '2026-01-01',
      ...(vendor.kind === 'video'
        ? { video: { rows: [{ resolution: '*', per_second_micro: 0 }], per_job_micro: PRICE_MICRO } }
        : { music: { per_job_micro: PRICE_MICRO } }),
    },
  ],
});

interface Job {
  readonly id: string;
  readonly vendor: Vendor;
  /** In its prompt alone. */
  readonly tag: string;
}

describe('kill -9 of a worker with a job at each vendor', () => {
  let fixture: JobFixture;
  let files: PublicHost;
  let catalog: ReturnType<typeof createCatalog>;
  let holdsPolls = false;
  const heldPolls = new Set<string>();
  let holdsFiles = false;
  let heldFiles = 0;
  const certificate = join(tmpdir(), `vendor-files-${randomUUID()}.pem`);
  const upstreams = new Map<string, FakeUpstream>();

  beforeAll(async () => {
    files = await PublicHost.start();
    files.answer = (response) => {
      if (!holdsThis()) respondWith(response, MP4, 'video/mp4');
    };
    writeFileSync(certificate, files.certificate);
    const settings: Record<string, string | undefined> = {};
    for (const { id, subject } of VENDORS) {
      if (upstreams.has(id)) continue;
      const upstream = await FakeUpstream.start();
      upstream.answer = answerOf(id, subject);
      upstreams.set(id, upstream);
      Object.assign(settings, subject.environment(upstream.origin));
    }
    catalog = createCatalog(VENDORS.map(toModel));
    fixture = await JobFixture.start({
      ...KILLED_WORKERS,
      ...(settings as Record<string, string>),
      CATALOG_DIR: catalog.path,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: certificate,
    });
  }, 300_000);
  afterEach(endWorkers);
  afterAll(async () => {
    await fixture.stop();
    catalog.remove();
    rmSync(certificate);
    await Promise.all([files, ...upstreams.values()].map((server) => server.stop()));
  });

  it('before the answer to the submission is stored submits no job again, nor charges it', async () => {
    const worker = await fixture.startWorker();
    const stop = await JobStop.at('handle', fixture.database.url);
    const videos = await submitAll(VIDEO_VENDORS);
    // These vendors still compose when the worker dies.
    const pieces = await submitAll(MUSIC_VENDORS, VENDOR_PROMPTS.underWay);
    await stop.reached(videos.length);
    await until('the submissions', 20_000, () => pieces.every((job) => submissionsOf(job) === 1));
    await worker.kill();
    await stop.end('rolled back');
    await fixture.startWorker();
    await assertEnds([...videos, ...pieces], ({ vendor }) => vendor.id === FINDS_BY_TOKEN);
  }, 300_000);

  it('while the vendor works leaves the job to the next worker', async () => {
    const worker = await fixture.startWorker();
    holdsPolls = true;
    const jobs = await submitAll(VIDEO_VENDORS);
    await hurried(jobs, () => until('the polls', 60_000, () => heldPolls.size >= jobs.length));
    await worker.kill();
    holdsPolls = false;
    await fixture.startWorker();
    await assertEnds(jobs, () => true);
  }, 300_000);

  it('while it downloads the file leaves the download to the next worker', async () => {
    const worker = await fixture.startWorker();
    const vendors = VIDEO_VENDORS.filter(({ id }) => id !== WITHOUT_DOWNLOAD);
    [holdsFiles, heldFiles] = [true, 0];
    const jobs = await submitAll(vendors);
    await hurried(jobs, () => until('the downloads', 60_000, () => heldFiles >= vendors.length));
    await worker.kill();
    holdsFiles = false;
    await fixture.startWorker();
    await assertEnds(jobs, () => true);
  }, 300_000);

  function answerOf(id: string, { jobVendor, musicVendor }: Subject): Answer {
    const videos = jobVendor && playJobs(jobVendor, files.url(''));
    return (response, request) => {
      // Of vendors whose own host has the file; the others give its address at a public host.
      if (request.url.endsWith('/content') && holdsThis()) return;
      const asked = jobVendor?.jobOf(request) ?? null;
      if (asked !== null && holdsPolls) {
        heldPolls.add(`${id} ${asked}`);
        return;
      }
      if (request.body.includes(MUSIC_TEXT)) musicVendor?.(response, request);
      else videos?.(response, request);
    };
  }

  function holdsThis(): boolean {
    if (holdsFiles) heldFiles += 1;
    return holdsFiles;
  }

  function submitAll(vendors: readonly Vendor[], directives = ''): Promise<Job[]> {
    const submissions = vendors.map(async (vendor) => {
      const tag = randomUUID();
      const text = vendor.kind === 'music' ? MUSIC_TEXT : VIDEO_TEXT;
      const fields = { model: modelOf(vendor), prompt: `${text} ${directives} ${tag}`, format: undefined };
      const id = await fixture.submit('', { ...fields, duration_seconds: 6 }, vendor.kind);
      return { id, vendor, tag };
    });
    return Promise.all(submissions);
  }

  /**
   * Brings polls forward, as reports of vendors do, until `reached` resolves: some vendors ask for 30 s between two.
   */
  async function hurried<Result>(jobs: readonly Job[], reached: () => Promise<Result>): Promise<Result> {
    const end = new AbortController();
    const hurry = until('the end of the polls', 120_000, async () => {
      await bringPollsForward(jobs);
      return end.signal.aborted;
    });
    try {
      return await reached();
    } finally {
      end.abort();
      await hurry;
    }
  }

  /** Without those whose statement the test has stopped, which holds a lock of the row. */
  async function bringPollsForward(jobs: readonly Job[]): Promise<void> {
    await fixture.operator.rows(
      `UPDATE media_job SET next_run_at = now() - interval '10 seconds'
        WHERE id IN (SELECT id FROM media_job
                      WHERE id = ANY ($1) AND completed_at IS NULL AND provider_handle IS NOT NULL
                        AND next_run_at > now() AND (lease_until IS NULL OR lease_until <= now())
                        FOR UPDATE SKIP LOCKED)`,
      [jobs.map(({ id }) => id)],
    );
  }

  const submissionsOf = ({ vendor, tag }: Job): number =>
    upstreams.get(vendor.id)?.received.filter(({ method, body }) => method === 'POST' && body.includes(tag)).length ??
    0;

  async function assertEnds(jobs: readonly Job[], succeeds: (job: Job) => boolean): Promise<void> {
    const ids = jobs.map(({ id }) => id);
    await hurried(jobs, () => fixture.allEnded(ids, allowedMs(RECOVERY_MS)));
    const statuses = await fixture.statuses(ids);
    expect(jobs.map((job) => [modelOf(job.vendor), statuses.get(job.id), submissionsOf(job)])).toEqual(
      jobs.map((job) => [modelOf(job.vendor), succeeds(job) ? 'succeeded' : 'failed', 1]),
    );
    const paid = jobs.filter(succeeds).length;
    expect(await fixture.accounts(ids)).toMatchObject({
      succeeded: paid,
      charges: paid,
      charged: paid * PRICE_MICRO,
      artifacts: paid,
      objects: paid,
      held: 0,
    });
    report('F-06b', { jobs: jobs.length, succeeded: paid, submissionsPerJob: 1 });
  }
});
