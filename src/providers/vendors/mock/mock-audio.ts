import type { Clock } from '../../../core/time/clock';
import type { ProviderCall } from '../../contract/provider-call';
import type { SpeechProvider, SpeechRequest, SpeechStream } from '../../contract/speech';
import type {
  Transcript,
  TranscriptionProvider,
  TranscriptionRequest,
  TranscriptSegment,
  TranscriptStream,
  TranscriptWord,
} from '../../contract/transcription';
import { makeAudio, measureAudio, SPEECH_RATE } from './media-files';
import { ScriptedCall } from './scripted-call';
import { hashText, tokenize } from './conversation';

const CHARACTERS_PER_SECOND = 14;
const PIECE_SECONDS = 0.5;
const TOKEN_DELAY_MS = 2;
/** About the size of Whisper's vocabulary. */
const VOCABULARY = 50_000;
const CENTS = 100;

/** Speech without a model: a fixed recording, repeated for as long as it takes to speak the text. */
export class MockSpeech implements SpeechProvider {
  constructor(private readonly clock: Clock) {}

  async speak({ input, voice, format, speed }: SpeechRequest, call: ProviderCall): Promise<SpeechStream> {
    const scripted = new ScriptedCall(input, 'input', call, this.clock);
    const { text, script } = scripted;
    const seconds = Math.max(1, Array.from(text).length) / (CHARACTERS_PER_SECOND * (speed ?? 1));
    await scripted.begin();
    const seed = hashText(voice, hashText(text));
    const transcript = text.trim();
    const file = await makeAudio({ kind: 'speech', format, seconds, sampleRate: SPEECH_RATE, seed, transcript });
    scripted.check('first_token');
    const pieces = piecesOf(file, script.chunks ?? Math.ceil(seconds / PIECE_SECONDS));
    const progress = { audioBytes: 0, usage: null };
    const write = (piece: Buffer) => {
      progress.audioBytes += piece.length;
      return piece;
    };
    return { progress, pipe: (sink) => scripted.send(pieces, 0, sink, write) };
  }
}

/** Transcription without a model: it reads the words of the mock's own speech; other files are described. */
export class MockTranscription implements TranscriptionProvider {
  constructor(private readonly clock: Clock) {}

  async transcribe(request: TranscriptionRequest, call: ProviderCall): Promise<Transcript> {
    const { scripted, text, seconds } = await this.listen(request, call);
    await scripted.reply(scripted.script.delayMs);
    const { language, temperature, timestamps } = request;
    return {
      text,
      language: language ?? 'english',
      segments: timestamps.includes('segment') ? segmentsOf(text, seconds, temperature ?? 0) : null,
      words: timestamps.includes('word') ? wordsOf(text, seconds) : null,
      usage: null,
      reportedSeconds: null,
    };
  }

  async openStream(request: TranscriptionRequest, call: ProviderCall): Promise<TranscriptStream> {
    const { scripted, text } = await this.listen(request, call);
    await scripted.begin();
    const progress = { outputBytes: 0, text: '', usage: null, reportedSeconds: null };
    const write = (delta: string) => {
      progress.text += delta;
      progress.outputBytes += Buffer.byteLength(delta);
      return `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`;
    };
    return { progress, pipe: (sink) => scripted.send(tokenize(text), TOKEN_DELAY_MS, sink, write) };
  }

  private async listen({ audio, prompt, contentType }: TranscriptionRequest, call: ProviderCall) {
    const scripted = new ScriptedCall(prompt ?? '', 'prompt', call, this.clock);
    const { seconds, transcript } = await measureAudio(audio);
    const kind = contentType.replace(/^audio\/(?:x-)?/, '').toUpperCase();
    const described = `This is a recording of ${seconds.toFixed(1)} seconds. It came as ${kind} in ${audio.length} bytes.`;
    const text = transcript ?? described;
    return { scripted, text, seconds };
  }
}

function piecesOf(file: Buffer, count: number): Buffer[] {
  const length = Math.ceil(file.length / count);
  return Array.from({ length: Math.ceil(file.length / length) }, (_, at) =>
    file.subarray(at * length, (at + 1) * length),
  );
}

/** Sentences in sequence, with durations in proportion to their letters. */
function segmentsOf(text: string, seconds: number, temperature: number): TranscriptSegment[] {
  const sentences = text.match(/[^.!?…]+[.!?…]*\s*/gu) ?? [];
  return spread(sentences, seconds).map(({ piece, start, end }, id) => ({
    id,
    seek: 0,
    start,
    end,
    text: ` ${piece.trim()}`,
    tokens: tokenize(piece).map((token) => hashText(token) % VOCABULARY),
    temperature,
    avg_logprob: -0.2,
    compression_ratio: 1.2,
    no_speech_prob: 0.01,
  }));
}

function wordsOf(text: string, seconds: number): TranscriptWord[] {
  const words = spread(text.match(/\S+\s*/gu) ?? [], seconds);
  return words.map(({ piece, start, end }) => ({ word: piece.trim().replace(/[.,!?…]+$/u, ''), start, end }));
}

/** Distributes the time by letters, in hundredths of a second: without gaps, and not beyond the end. */
function spread(pieces: readonly string[], seconds: number) {
  const total = pieces.join('').length;
  let letters = 0;
  const now = () => Math.floor((seconds * CENTS * letters) / total) / CENTS;
  return pieces.map((piece) => {
    const start = now();
    letters += piece.length;
    return { piece, start, end: now() };
  });
}
