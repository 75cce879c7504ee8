import { Logger } from '@nestjs/common';
import type { ChatProvider } from './contract/chat';
import type { AsyncJobAdapter, JobAdapter, JobHandle, SyncJobAdapter } from './contract/media-job';
import type { Provider } from './contract/provider';
import type { ProviderCall } from './contract/provider-call';
import { ProviderError } from './contract/provider-error';
import type { KeyCoolDowns } from './key-cool-downs';

/** One key of an account, and the provider that sends it. */
export interface PooledKey {
  /** Not secret, and the same in every process: stored with jobs and shown in logs. */
  readonly id: string;
  /**
   * Identifies the key and its base URL, also across instances: instances that share both are rate limited together and
   * deduplicate jobs together. Not secret either.
   */
  readonly accountId: string;
  readonly weight: number;
  readonly provider: Provider;
}

/** How many keys one call may try. A request that exceeds the limits of any key must not cool them all down. */
const MAX_KEYS_PER_CALL = 3;
const REFUSED_COOL_DOWN_MS = 300_000;
const LIMITED_COOL_DOWN_MS = 10_000;

/**
 * Makes several keys of one upstream act as one provider. Calls are spread by weight. A key that the upstream limits or
 * refuses cools down, and the call continues with another key, since a refused call did no work. Jobs stay with the key
 * that submitted them.
 */
export class KeyPool implements Provider {
  private static readonly logger = new Logger(KeyPool.name);
  readonly capabilities: Provider['capabilities'];
  readonly quirks: Provider['quirks'];
  readonly simulated: boolean;
  readonly chat: Provider['chat'];
  readonly responses: Provider['responses'];
  readonly completions: Provider['completions'];
  readonly embeddings: Provider['embeddings'];
  readonly images: Provider['images'];
  readonly speech: Provider['speech'];
  readonly transcription: Provider['transcription'];
  readonly video: Provider['video'];
  readonly music: Provider['music'];

  /** @param keys all of the same module */
  constructor(
    readonly id: string,
    private readonly keys: readonly [PooledKey, ...PooledKey[]],
    private readonly coolDowns: KeyCoolDowns,
  ) {
    const { provider } = keys[0];
    this.capabilities = provider.capabilities;
    this.quirks = provider.quirks;
    this.simulated = provider.simulated === true;
    this.chat = this.poolChat(({ chat }) => chat);
    this.responses = this.poolResponses();
    this.completions = this.poolCompletions();
    this.embeddings = this.poolEmbeddings();
    this.images = this.pool(
      ({ images }) => images,
      (use) => ({ generate: (request, call) => use((images) => images.generate(request, call)) }),
    );
    this.speech = this.pool(
      ({ speech }) => speech,
      (use) => ({ speak: (request, call) => use((speech) => speech.speak(request, call)) }),
    );
    this.transcription = this.poolTranscription();
    this.video = this.poolJobs('video');
    this.music = this.poolJobs('music');
  }

  async drain(): Promise<void> {
    await Promise.all(this.keys.map(({ provider }) => provider.drain?.()));
  }

  async close(): Promise<void> {
    await Promise.all(this.keys.map(({ provider }) => provider.close()));
  }

  /** Makes the pool's keys usable again, in every process. */
  endCoolDowns(): void {
    for (const { accountId } of this.keys) this.coolDowns.end(accountId);
  }

  private poolChat(select: (provider: Provider) => ChatProvider | undefined): ChatProvider | undefined {
    return this.pool(select, (use, first) => ({
      assertSupported: first.assertSupported?.bind(first),
      complete: (request, call) => use((chat) => chat.complete(request, call)),
      openStream: (request, call) => use((chat) => chat.openStream(request, call)),
      ...(first.openChunkStream !== undefined && {
        openChunkStream: (request, call) =>
          use((chat) => (chat as Required<typeof chat>).openChunkStream(request, call)),
      }),
    }));
  }

  private poolResponses(): Provider['responses'] {
    const chat = this.poolChat(({ responses }) => responses);
    return (
      chat &&
      this.pool(
        ({ responses }) => responses,
        (use) => ({
          ...chat,
          respond: (request, input, call) => use((responses) => responses.respond(request, input, call)),
          openItemStream: (request, input, call) => use((responses) => responses.openItemStream(request, input, call)),
        }),
      )
    );
  }

  private poolCompletions(): Provider['completions'] {
    return this.pool(
      ({ completions }) => completions,
      (use, first) => ({
        assertSupported: first.assertSupported?.bind(first),
        complete: (request, call) => use((completions) => completions.complete(request, call)),
        openStream: (request, call) => use((completions) => completions.openStream(request, call)),
      }),
    );
  }

  private poolEmbeddings(): Provider['embeddings'] {
    return this.pool(
      ({ embeddings }) => embeddings,
      (use, first) => ({
        assertSupported: first.assertSupported?.bind(first),
        embed: (request, call) => use((embeddings) => embeddings.embed(request, call)),
      }),
    );
  }

  private poolTranscription(): Provider['transcription'] {
    return this.pool(
      ({ transcription }) => transcription,
      (use, first) => ({
        transcribe: (request, call) => use((transcription) => transcription.transcribe(request, call)),
        ...(first.openStream !== undefined && {
          openStream: (request, call) =>
            use((transcription) => (transcription as Required<typeof transcription>).openStream(request, call)),
        }),
      }),
    );
  }

  private poolJobs(kind: 'video' | 'music'): JobAdapter | undefined {
    const first = this.keys[0].provider[kind];
    if (first === undefined) return undefined;
    const adapterOf = <Adapter extends JobAdapter>({ provider }: PooledKey): Adapter => provider[kind] as Adapter;
    type Openers = Required<Pick<JobAdapter, 'openOutput' | 'downloadCredential'>>;
    const openersOf = (call: ProviderCall) => adapterOf<JobAdapter & Openers>(this.keyOf(call.keyId));
    const base: Pick<JobAdapter, 'capabilities' | 'assertSupported' | 'verifyReport' | keyof Openers> = {
      capabilities: {
        ...first.capabilities,
        // The keys may belong to different accounts, and an account deduplicates only its own tokens.
        idempotentSubmit: first.capabilities.idempotentSubmit && this.keys.length === 1,
        ...(this.keys.length === 1 && { submissionAccount: this.keys[0].accountId }),
      },
      ...(first.assertSupported !== undefined && { assertSupported: first.assertSupported.bind(first) }),
      ...(first.openOutput !== undefined && { openOutput: (output, call) => openersOf(call).openOutput(output, call) }),
      ...(first.downloadCredential !== undefined && {
        downloadCredential: (call) => openersOf(call).downloadCredential(call),
      }),
      // A vendor signs with a secret of each account.
      ...(first.verifyReport !== undefined && {
        verifyReport: (report, call) =>
          this.isVerified(call.keyId, (key) => adapterOf<Required<JobAdapter>>(key).verifyReport(report, call)),
      }),
    };
    if (first.mode === 'sync') {
      return {
        ...base,
        mode: 'sync',
        make: (spec, call) => this.call((key) => adapterOf<SyncJobAdapter>(key).make(spec, call)),
      };
    }
    return {
      ...base,
      mode: 'async',
      submit: (spec, token, call) =>
        this.call(async (key) => {
          const handle = await adapterOf<AsyncJobAdapter>(key).submit(spec, token, call);
          return { ...handle, provider: this.id, keyId: key.id };
        }),
      poll: (handle, call) =>
        this.callAbout(handle, async (key) => {
          const snapshot = await adapterOf<AsyncJobAdapter>(key).poll(handle, call);
          return snapshot.state === 'succeeded' ? { ...snapshot, keyId: key.id } : snapshot;
        }),
      ...(first.cancel !== undefined && {
        cancel: (handle: JobHandle, call: ProviderCall) =>
          this.callAbout(handle, (key) => adapterOf<Required<AsyncJobAdapter>>(key).cancel(handle, call)),
      }),
    };
  }

  /** Pools one capability over all keys, if the module has it. */
  private pool<Capability>(
    select: (provider: Provider) => Capability | undefined,
    combine: (
      use: <Result>(call: (capability: Capability) => Promise<Result>) => Promise<Result>,
      first: Capability,
    ) => Capability,
  ): Capability | undefined {
    const first = select(this.keys[0].provider);
    if (first === undefined) return undefined;
    return combine((use) => this.call(({ provider }) => use(select(provider) as Capability)), first);
  }

  private async call<Result>(attempt: (key: PooledKey) => Promise<Result>): Promise<Result> {
    const tried = new Set<PooledKey>();
    let refusal: ProviderError | null = null;
    for (let key = this.choose(tried); key !== null; key = this.choose(tried)) {
      try {
        return await attempt(key);
      } catch (error) {
        if (!(error instanceof ProviderError) || !isAboutKey(error)) throw error;
        this.coolDown(key, error);
        tried.add(key);
        refusal = error;
        if (tried.size === MAX_KEYS_PER_CALL) break;
      }
    }
    throw refusal ?? this.allCooling();
  }

  /** Chooses at random, by weight, among the keys that are ready. */
  private choose(tried: ReadonlySet<PooledKey>): PooledKey | null {
    const ready = this.keys.filter((key) => !tried.has(key) && this.coolDowns.waitMs(key.accountId) === 0);
    let rest = Math.random() * ready.reduce((sum, { weight }) => sum + weight, 0);
    return ready.find(({ weight }) => (rest -= weight) < 0) ?? ready.at(-1) ?? null;
  }

  /** The key with this id; another key if this one was removed. */
  private keyOf(id: string | undefined): PooledKey {
    return this.findKey(id) ?? this.keys[0];
  }

  private findKey(id: string | undefined): PooledKey | undefined {
    return this.keys.find((key) => key.id === id);
  }

  /**
   * Calls with the key that submitted the job. If that key was removed, any other may belong to the same account, so
   * they are tried in turn. "Not found" from a key of another account says nothing about the job.
   */
  private async callAbout<Result>({ keyId }: JobHandle, call: (key: PooledKey) => Promise<Result>): Promise<Result> {
    const submitter = this.findKey(keyId);
    if (submitter !== undefined) return call(submitter);
    for (const key of this.keys) {
      try {
        return await call(key);
      } catch (error) {
        if (!isUnknownToKey(error)) throw error;
      }
    }
    const message = 'no key of a provider knows a job whose own key was removed';
    KeyPool.logger.warn({ event: 'provider_job_key_removed', message, provider: this.id, key: keyId });
    throw new ProviderError('provider_unavailable', 'The key that submitted this job was removed.', {
      phase: 'job',
      fallback: false,
    });
  }

  /**
   * Verifies with the key that submitted the job; if that key was removed, with all others, as `callAbout` does.
   * @throws Error of a key that could not verify, unless another one did
   */
  private async isVerified(
    submitterId: string | undefined,
    verify: (key: PooledKey) => Promise<boolean>,
  ): Promise<boolean> {
    const submitter = this.findKey(submitterId);
    if (submitter !== undefined) return verify(submitter);
    const verdicts = await Promise.allSettled(this.keys.map(verify));
    if (verdicts.some((verdict) => verdict.status === 'fulfilled' && verdict.value)) return true;
    const failed = verdicts.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failed !== undefined) throw failed.reason;
    return false;
  }

  private coolDown(key: PooledKey, { options }: ProviderError): void {
    const isRefused = options.credentialRefused === true;
    const namedMs = options.retryAfterSeconds === undefined ? null : options.retryAfterSeconds * 1_000;
    const pauseMs = namedMs ?? (isRefused ? REFUSED_COOL_DOWN_MS : LIMITED_COOL_DOWN_MS);
    this.coolDowns.begin(key.accountId, pauseMs);
    const facts = { provider: this.id, key: key.id, pause_ms: pauseMs, status: options.upstream?.status };
    if (isRefused) {
      KeyPool.logger.error({ event: 'provider_key_refused', message: 'a provider refused one of its keys', ...facts });
    } else {
      KeyPool.logger.warn({ event: 'provider_key_limited', message: 'a provider limits one of its keys', ...facts });
    }
  }

  private allCooling(): ProviderError {
    const waitMs = Math.min(...this.keys.map(({ accountId }) => this.coolDowns.waitMs(accountId)));
    return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', {
      phase: 'connect',
      fallback: true,
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    });
  }
}

/**
 * A 403 does not count as about the key, unless it is about credit: some upstreams also return it for the content of a
 * request, so a client could cool down all keys.
 */
function isAboutKey({ code, options }: ProviderError): boolean {
  const { credentialRefused, outOfCredit, upstream } = options;
  if (code === 'provider_rate_limited' || outOfCredit === true) return true;
  return credentialRefused === true && upstream?.status !== 403;
}

function isUnknownToKey(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  const { credentialRefused, upstream } = error.options;
  return credentialRefused === true || upstream?.status === 404 || upstream?.status === 410;
}
