import type { Bill, PricedText, RenderedAnswer } from '../inference/inference.types';
import type { Transcript } from '../providers/contract/transcription';
import type { TranscriptionFormat } from './dto/transcription-fields.dto';
import { toSrt, toVtt } from './subtitles';
import { usageText } from './transcription-request';

/** A transcript with the facts that the gateway adds. */
export interface MeasuredTranscript {
  readonly transcript: Transcript;
  /** Measured from the file. */
  readonly durationSeconds: number;
  /** From the request; used when the model reports none. */
  readonly language: string | null;
  /** Whether the price charges tokens. */
  readonly tokensCount: boolean;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** The complete response in the requested format. Segments are present where the format needs them. */
export function renderTranscript(
  measured: MeasuredTranscript,
  format: TranscriptionFormat,
  bill: Bill,
): RenderedAnswer {
  const { text, segments } = measured.transcript;
  switch (format) {
    case 'json':
      return renderJson({ text }, bill, measured.tokensCount);
    case 'verbose_json':
      return renderJson(verbose(measured), bill, measured.tokensCount);
    case 'text':
      return { contentType: PLAIN_TEXT, head: `${text}\n`, tail: null };
    case 'srt':
      return { contentType: PLAIN_TEXT, head: toSrt(segments ?? []), tail: null };
    case 'vtt':
      return { contentType: PLAIN_TEXT, head: toVtt(segments ?? []), tail: null };
  }
}

/** The final event, with a gap for its cost. */
export function transcriptDoneEvent(text: string, bill: Bill, tokensCount: boolean): PricedText {
  const { head, tail } = withUsage({ type: 'transcript.text.done', text }, bill, tokensCount);
  return { head: `data: ${head}`, tail: `${tail}\n\n` };
}

function verbose({ transcript, durationSeconds, language }: MeasuredTranscript): object {
  const { text, segments, words } = transcript;
  return {
    task: 'transcribe',
    language: transcript.language ?? language ?? undefined,
    duration: durationSeconds,
    text,
    words: words ?? undefined,
    segments: segments ?? undefined,
  };
}

function renderJson(body: object, bill: Bill, tokensCount: boolean): RenderedAnswer {
  return { contentType: 'application/json; charset=utf-8', ...withUsage(body, bill, tokensCount) };
}

function withUsage(body: object, bill: Bill, tokensCount: boolean): PricedText {
  const { head, tail } = usageText(bill, tokensCount);
  return { head: `${JSON.stringify(body).slice(0, -1)},"usage":${head}`, tail: `${tail}}` };
}
