/**
 * Transcription by AssemblyAI: upload, create, poll
 * (https://www.assemblyai.com/docs/getting-started/transcribe-an-audio-file). A transcript is created once, and polled
 * within the time limit of the call.
 */
import type { CallLimits, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptWord,
} from '../../contract/transcription';
import { awaitResult, SharedDeadline } from '../../kit/await-result';
import { type JsonObject, parseJsonObject } from '../../kit/json';
import { RawBody } from '../../kit/raw-body';
import {
  listTimed,
  notTranscript,
  refusePrompt,
  refuseTemperature,
  secondsOf,
  toReportedSeconds,
  toSegments,
  withTimestamps,
} from '../../kit/transcripts';
import { toSafeText } from '../../kit/safe-text';
import type { UpstreamHttp } from '../../kit/upstream-http';

const MILLISECONDS = 1_000;
/** Without `on_no_speech_detected`, a file without speech fails, because it has no language to detect. */
const DETECTION = { language_detection: true, language_detection_options: { on_no_speech_detected: 'fallback' } };
/** Error messages about the file itself. */
const FILE_FAULT = /not appear to contain audio|too short|no (spoken )?audio|no speech|unsupported|corrupt/i;
/** Chinese and Japanese characters, with their punctuation and full-width forms. */
const UNSPACED = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\uff01-\uff65]`;
const ENDS_UNSPACED = new RegExp(`${UNSPACED}$`, 'u');
const BEGINS_UNSPACED = new RegExp(`^${UNSPACED}`, 'u');

export class AssemblyAiTranscription implements TranscriptionProvider {
  private readonly upload: string;
  private readonly transcripts: string;

  constructor(private readonly http: Pick<UpstreamHttp, 'endpoint' | 'get' | 'post'>) {
    this.upload = http.endpoint('upload');
    this.transcripts = http.endpoint('transcript');
  }

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    refusePrompt(request);
    refuseTemperature(request);
    const deadline = new SharedDeadline(call);
    const file = new RawBody('application/octet-stream', request.audio);
    const uploaded = await this.http.post(this.upload, file, deadline.next()).catch(blame('file'));
    const body = JSON.stringify(toTranscriptRequest(request, call, textOf(uploaded, 'upload_url')));
    // The language is the only part of this request that the client wrote.
    const culprit = request.language === null ? null : 'language';
    const created = await this.http.post(this.transcripts, body, deadline.next()).catch(blame(culprit));
    const id = textOf(created, 'id');
    const target = this.http.endpoint(`transcript/${encodeURIComponent(id)}`);
    return awaitResult(deadline, async (limits) => this.read(target, request, limits));
  }

  /** @returns `null` while the transcript is not finished */
  private async read(target: string, request: TranscriptionRequest, limits: CallLimits): Promise<Transcript | null> {
    const reply = parseJsonObject(await this.http.get(target, limits));
    if (reply === null) throw notTranscript();
    if (reply['status'] === 'error') throw toFailure(reply['error']);
    return reply['status'] === 'completed' ? fromTranscript(reply, request) : null;
  }
}

function toTranscriptRequest(
  { language }: TranscriptionRequest,
  { upstreamModel }: ProviderCall,
  audio_url: string,
): JsonObject {
  const known = language === null ? DETECTION : { language_code: language };
  return { audio_url, speech_models: [upstreamModel], ...known };
}

function fromTranscript(reply: JsonObject, request: TranscriptionRequest): Transcript {
  const { text, words, language_code: language, audio_duration: seconds } = reply;
  if (typeof text !== 'string') throw notTranscript();
  const spoken = listTimed(words, toWord);
  return withTimestamps(request, {
    text,
    language: typeof language === 'string' ? language : null,
    segments: spoken === null ? null : toSegments(withSpaces(spoken)),
    words: spoken,
    usage: null,
    reportedSeconds: toReportedSeconds(seconds),
  });
}

/** Adds the space after each word, except in Chinese and Japanese, which are written without spaces. */
function withSpaces(words: readonly TranscriptWord[]): readonly TranscriptWord[] {
  return words.map((each, at) => {
    const isJoined = ENDS_UNSPACED.test(each.word) && BEGINS_UNSPACED.test(words[at + 1]?.word ?? '');
    return isJoined ? each : { ...each, word: `${each.word} ` };
  });
}

/** Times are in milliseconds. */
function toWord({ text, start, end }: JsonObject): TranscriptWord {
  if (typeof text !== 'string') throw notTranscript();
  return { word: text, start: secondsOf(start) / MILLISECONDS, end: secondsOf(end) / MILLISECONDS };
}

function toFailure(reason: unknown): ProviderError {
  const message = typeof reason === 'string' ? reason : '';
  if (!FILE_FAULT.test(message)) return notTranscript('no transcript');
  return new ProviderError('validation_failed', 'The provider could not transcribe the file; see details.', {
    phase: 'first_token',
    fallback: false,
    param: 'file',
    details: { provider_code: null, provider_message: toSafeText(message) },
  });
}

/**
 * AssemblyAI's 400 and 422 contain a sentence but no code
 * (https://www.assemblyai.com/docs/guides/common_errors_and_solutions), so the error names the only field that the
 * client wrote.
 * @param param `null`: the client wrote none of it
 */
function blame(param: string | null): (error: unknown) => never {
  return (error) => {
    if (param === null || !(error instanceof ProviderError) || error.code !== 'provider_error') throw error;
    const { credentialRefused, upstream } = error.options;
    if (credentialRefused === true || (upstream?.status !== 400 && upstream?.status !== 422)) throw error;
    throw new ProviderError('validation_failed', 'The provider refused the request as invalid.', {
      ...error.options,
      fallback: false,
      param,
    });
  };
}

function textOf(reply: Buffer, field: string): string {
  const value = parseJsonObject(reply)?.[field];
  if (typeof value !== 'string' || value === '') throw notTranscript();
  return value;
}
