import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProviderEnvironment } from '../../src/core/config/provider-environment';
import type { RequestMapping } from '../../src/providers/contract/request-mapping';
import type { ProviderDefinition } from '../../src/providers/contract/provider';
import { AnthropicProvider } from '../../src/providers/vendors/anthropic/anthropic.module';
import { BedrockAnthropicProvider } from '../../src/providers/vendors/bedrock-anthropic/bedrock-anthropic.module';
import { DeepgramProvider } from '../../src/providers/vendors/deepgram/deepgram.module';
import { ElevenLabsProvider } from '../../src/providers/vendors/elevenlabs/elevenlabs.module';
import { BflProvider } from '../../src/providers/vendors/bfl/bfl.module';
import { IdeogramProvider } from '../../src/providers/vendors/ideogram/ideogram.module';
import { StabilityProvider } from '../../src/providers/vendors/stability/stability.module';
import { AssemblyAiProvider } from '../../src/providers/vendors/assemblyai/assemblyai.module';
import { FalProvider } from '../../src/providers/vendors/fal/fal.module';
import { ReplicateProvider } from '../../src/providers/vendors/replicate/replicate.module';
import { GoogleProvider } from '../../src/providers/vendors/google/google.module';
import type { OpenAiFormatProvider } from '../../src/providers/dialects/openai-format.provider';
import {
  MockMediaBasicProvider,
  MockMediaProvider,
  MockMediaSyncProvider,
} from '../../src/providers/vendors/mock/mock.module';
import { MockProvider } from '../../src/providers/vendors/mock/mock.module';
import { VertexProvider } from '../../src/providers/vendors/vertex/vertex.module';
import { type MediaWire, OPENAI_MEDIA, without } from './media-uses';
import { MISTRAL_MEDIA } from './media-vendors/mistral';
import { MINIMAX_MEDIA } from './media-vendors/minimax';
import { FIREWORKS_MEDIA } from './media-vendors/fireworks';
import { XAI_MEDIA } from './media-vendors/xai';
import { DEEPGRAM_MEDIA } from './media-vendors/deepgram';
import { ELEVENLABS_MEDIA } from './media-vendors/elevenlabs';
import { GOOGLE_MEDIA } from './media-vendors/google';
import { BFL_MEDIA } from './media-vendors/bfl';
import { GROQ_MEDIA } from './media-vendors/groq';
import { IDEOGRAM_MEDIA } from './media-vendors/ideogram';
import { RECRAFT_MEDIA } from './media-vendors/recraft';
import { STABILITY_MEDIA } from './media-vendors/stability';
import { ASSEMBLYAI_MEDIA } from './media-vendors/assemblyai';
import { ArkProvider } from '../../src/providers/vendors/ark/ark.module';
import { KlingProvider } from '../../src/providers/vendors/kling/kling.module';
import { LumaProvider } from '../../src/providers/vendors/luma/luma.module';
import { RunwayProvider } from '../../src/providers/vendors/runway/runway.module';
import { type JobVendor, VENDOR_PROMPTS } from './job-upstream';
import {
  ARK_JOBS,
  KLING_JOBS,
  LUMA_JOBS,
  MINIMAX_JOBS,
  OPENAI_VIDEO_JOBS,
  OPENROUTER_JOBS,
  REPLICATE_JOB_MAPPINGS,
  REPLICATE_JOBS,
  RUNWAY_JOBS,
  XAI_JOBS,
} from './job-vendors';
import { ELEVENLABS_MUSIC, LYRIA_MUSIC, MINIMAX_MUSIC, STABILITY_MUSIC } from './music-vendors';
import { FAL_JOB_MAPPINGS, FAL_PROMPTS, FalUpstream } from './fal-upstream';
import type { Answer } from './fake-upstream';
import { OMNI_JOBS, VEO_JOBS } from './google-jobs';
import { FAL_MEDIA, REPLICATE_MEDIA } from './media-vendors/mapped';
import { PRESETS } from './presets';
import { ANTHROPIC_ANSWERS, GEMINI_ANSWERS, OPENAI_ANSWERS, RESPONSES_ANSWERS, type TextAnswers } from './text-answers';

/** Of an upstream whose requests the catalogue maps. */
export interface MappedJobs {
  /** Plays it; absent: its `jobVendor` does. */
  play?(): Answer;
  readonly mappings: Readonly<Record<'video' | 'music', RequestMapping>>;
}

/** How the conformance suites configure a provider. */
export interface Subject {
  readonly definition: ProviderDefinition;
  /** Its module is listed in `src/provider-modules.ts`. The documents of this repository leave it out. */
  readonly outside?: true;
  /** @param origin of the fake upstream */
  environment(origin: string): ProviderEnvironment;
  /** Whether its upstream speaks OpenAI's format, so that the suites can fake it. */
  readonly speaksOpenAi: boolean;
  /** Answers of its upstream to text requests; for another format. */
  readonly textAnswers?: TextAnswers;
  /** Whether a chat with a field that the gateway does not know is refused; default: its upstream decides. */
  readonly refusesUnknownFields?: true;
  /** The media of its upstream; for another format. */
  readonly media?: MediaWire;
  /** A prompt that triggers a rate limit of 7 seconds; for providers without an upstream. */
  readonly rateLimitPrompt?: string;
  /** For providers of jobs that the catalogue maps. */
  readonly mappedJobs?: MappedJobs;
  /** For providers of jobs. */
  readonly jobPrompts?: JobPrompts;
  /** Plays the vendor of the jobs; for providers with an upstream. */
  readonly jobVendor?: JobVendor;
  /** Plays a vendor of jobs whose reply is the result. */
  readonly musicVendor?: Answer;
}

/** Prompts that produce each state of a job. */
export interface JobPrompts {
  /** Succeeds at once. */
  readonly done: string;
  readonly underWay: string;
  readonly failed: string;
  readonly expired: string;
  readonly unreachable: string;
  /** Accepted, but the connection breaks before the response. */
  readonly answerLost: string;
  /** For 7 seconds. */
  readonly rateLimited: string;
  readonly silent: string;
}

/** Made with the first job; its suite removes it. */
export const MOCK_MEDIA_DIR = join(tmpdir(), `mock-media-${process.pid}-${Date.now()}`);
const MOCK_MEDIA: Omit<Subject, 'definition'> = {
  environment: () => ({ MOCK_MEDIA_PROVIDER: 'true', MOCK_MEDIA_DIR }),
  speaksOpenAi: false,
  jobPrompts: {
    done: '[[mock: queued=0 run=0]]',
    underWay: '[[mock: queued=0 run=600s]]',
    failed: '[[mock: queued=0 run=0 fail=error]]',
    expired: '[[mock: queued=0 run=0 fail=timeout]]',
    unreachable: '[[mock: unreachable]]',
    answerLost: '[[mock: accept reset_after=0]]',
    rateLimited: '[[mock: status=429 retry_after=7]]',
    silent: '[[mock: hang]]',
  },
};

/** A preset with its key and base URL; the base URL has a path, as most do. */
export function preset(definition: OpenAiFormatProvider): Subject {
  const [apiKey = '', baseUrl = ''] = definition.credentials;
  return {
    definition,
    environment: (origin) => ({ [apiKey]: 'sk-test-1234', [baseUrl]: `${origin}/v1` }),
    speaksOpenAi: true,
  };
}

/** Of presets whose images or speech have a format of their own, or that take no input images. */
const PRESET_MEDIA: Readonly<Record<string, MediaWire>> = {
  fireworks: FIREWORKS_MEDIA,
  groq: GROQ_MEDIA,
  minimax: MINIMAX_MEDIA,
  mistral: MISTRAL_MEDIA,
  recraft: RECRAFT_MEDIA,
  together: without(without(OPENAI_MEDIA, 'edits'), 'streamed transcripts'),
  xai: XAI_MEDIA,
};

/** Vendors that make jobs beside chats. */
const JOBS_OF_PRESETS: Readonly<Record<string, JobVendor>> = {
  minimax: MINIMAX_JOBS,
  'openai-compatible': OPENAI_VIDEO_JOBS,
  openrouter: OPENROUTER_JOBS,
  vllm: OPENAI_VIDEO_JOBS,
  xai: XAI_JOBS,
};

/** Those that compose music within a request. */
const MUSIC_OF_PRESETS: Readonly<Record<string, Answer>> = { minimax: MINIMAX_MUSIC };

/** Presets whose chats have another format. */
const CHATS_OF_PRESETS: Readonly<Record<string, Partial<Subject>>> = {
  perplexity: {
    speaksOpenAi: false,
    refusesUnknownFields: true,
    textAnswers: { ...RESPONSES_ANSWERS, embeddings: OPENAI_ANSWERS.embeddings },
  },
};

function withJobs(subject: Subject): Subject {
  const { [subject.definition.id]: jobVendor } = JOBS_OF_PRESETS;
  const { [subject.definition.id]: musicVendor } = MUSIC_OF_PRESETS;
  return jobVendor === undefined ? subject : { ...subject, jobPrompts: VENDOR_PROMPTS, jobVendor, musicVendor };
}

function jobSubject(definition: ProviderDefinition, jobVendor: JobVendor, key = 'test-key-1234'): Subject {
  const [apiKey = '', baseUrl = ''] = definition.credentials;
  const environment = (origin: string) => ({ [apiKey]: key, [baseUrl]: `${origin}/v1` });
  return { definition, environment, speaksOpenAi: false, jobPrompts: VENDOR_PROMPTS, jobVendor };
}

/** A row for every provider of the gateway. */
export const SUBJECTS: readonly Subject[] = [
  {
    definition: new MockProvider(),
    environment: () => ({ MOCK_PROVIDER: 'true' }),
    speaksOpenAi: false,
    rateLimitPrompt: '[[mock: status=429 retry_after=7]]',
  },
  { definition: new MockMediaProvider(), ...MOCK_MEDIA },
  { definition: new MockMediaBasicProvider(), ...MOCK_MEDIA },
  { definition: new MockMediaSyncProvider(), ...MOCK_MEDIA },
  {
    definition: new AnthropicProvider(),
    environment: (origin) => ({ ANTHROPIC_API_KEY: 'sk-ant-test-1234', ANTHROPIC_BASE_URL: origin }),
    speaksOpenAi: false,
    textAnswers: ANTHROPIC_ANSWERS,
  },
  {
    definition: new BedrockAnthropicProvider(),
    environment: (origin) => ({
      BEDROCK_ANTHROPIC_API_KEY: 'bedrock-test-1234',
      BEDROCK_ANTHROPIC_BASE_URL: `${origin}/anthropic`,
    }),
    speaksOpenAi: false,
    textAnswers: ANTHROPIC_ANSWERS,
  },
  {
    definition: new GoogleProvider(),
    environment: (origin) => ({ GEMINI_API_KEY: 'AIza-test-1234', GEMINI_BASE_URL: `${origin}/v1beta` }),
    speaksOpenAi: false,
    textAnswers: GEMINI_ANSWERS,
    media: GOOGLE_MEDIA,
    jobPrompts: VENDOR_PROMPTS,
    jobVendor: OMNI_JOBS,
    musicVendor: LYRIA_MUSIC,
  },
  {
    definition: new VertexProvider(),
    environment: (origin) => ({ VERTEX_API_KEY: 'AQ.test-1234', VERTEX_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    textAnswers: GEMINI_ANSWERS,
    jobPrompts: VENDOR_PROMPTS,
    jobVendor: VEO_JOBS,
  },
  {
    definition: new DeepgramProvider(),
    environment: (origin) => ({ DEEPGRAM_API_KEY: 'dg-test-1234', DEEPGRAM_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: DEEPGRAM_MEDIA,
  },
  {
    definition: new ElevenLabsProvider(),
    environment: (origin) => ({ ELEVENLABS_API_KEY: 'elevenlabs-test-1234', ELEVENLABS_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: ELEVENLABS_MEDIA,
    jobPrompts: VENDOR_PROMPTS,
    musicVendor: ELEVENLABS_MUSIC,
  },
  {
    definition: new BflProvider(),
    environment: (origin) => ({ BFL_API_KEY: 'bfl-test-1234', BFL_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: BFL_MEDIA,
  },
  {
    definition: new FalProvider(),
    environment: (origin) => ({ FAL_KEY: 'fal-test-1234', FAL_BASE_URL: origin }),
    speaksOpenAi: false,
    jobPrompts: FAL_PROMPTS,
    mappedJobs: { play: () => new FalUpstream().answer, mappings: FAL_JOB_MAPPINGS },
    media: FAL_MEDIA,
  },
  {
    definition: new ReplicateProvider(),
    environment: (origin) => ({ REPLICATE_API_KEY: 'r8-test-1234', REPLICATE_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    jobPrompts: VENDOR_PROMPTS,
    jobVendor: REPLICATE_JOBS,
    mappedJobs: { mappings: REPLICATE_JOB_MAPPINGS },
    media: REPLICATE_MEDIA,
  },
  {
    definition: new IdeogramProvider(),
    environment: (origin) => ({ IDEOGRAM_API_KEY: 'ideogram-test-1234', IDEOGRAM_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: IDEOGRAM_MEDIA,
  },
  {
    definition: new StabilityProvider(),
    environment: (origin) => ({ STABILITY_API_KEY: 'stability-test-1234', STABILITY_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: STABILITY_MEDIA,
    jobPrompts: VENDOR_PROMPTS,
    musicVendor: STABILITY_MUSIC,
  },
  {
    definition: new AssemblyAiProvider(),
    environment: (origin) => ({ ASSEMBLYAI_API_KEY: 'assemblyai-test-1234', ASSEMBLYAI_BASE_URL: `${origin}/v1` }),
    speaksOpenAi: false,
    media: ASSEMBLYAI_MEDIA,
  },
  jobSubject(new ArkProvider(), ARK_JOBS),
  jobSubject(new KlingProvider(), KLING_JOBS, 'access-key-1234:secret-key-1234'),
  jobSubject(new LumaProvider(), LUMA_JOBS),
  jobSubject(new RunwayProvider(), RUNWAY_JOBS),
  ...PRESETS.map((definition) =>
    withJobs({ ...preset(definition), media: PRESET_MEDIA[definition.id], ...CHATS_OF_PRESETS[definition.id] }),
  ),
];

/** Those with settings that the documents of this repository list, by id. */
export const DOCUMENTED_SUBJECTS: readonly Subject[] = SUBJECTS.filter(
  ({ definition, outside }) => definition.credentials.length > 0 && outside !== true,
).toSorted(({ definition: one }, { definition: next }) => (one.id < next.id ? -1 : 1));
