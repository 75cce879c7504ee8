import { useRef, useState } from 'react';
import type { Model } from '../../../contract/dashboard';
import { callV1, costOf, requestIdOf } from '../../api/v1';
import { useOrganization } from '../../app/use-session';
import { formatDuration } from '../../format/count';
import { Button } from '../../ui/button';
import { CopyButton } from '../../ui/copy-button';
import { Empty } from '../../ui/empty';
import { saveText } from '../../ui/save-text';
import { CodeButton } from './code-button';
import { RequestFailure } from './failure';
import { FileField } from './file-field';
import { FormLayout } from './form-layout';
import { MicrophoneButton } from './microphone-button';
import { ModelField } from './model-field';
import { ReceiptLine } from './receipt-line';
import { type Segment, toSrt, toVtt } from './subtitles';
import { modelOf, type TabProps } from './tab';
import { useDraft } from './use-draft';
import type { TabResult } from './result-store';
import { useResults, type Settled } from './use-results';

interface TranscriptionDraft {
  readonly model: string;
  readonly language: string;
}

interface TranscriptionResult extends TabResult {
  readonly fileName: string;
  /** `blob:` URL of the sound. */
  readonly urls: readonly [string];
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly totalMs: number;
}

const EMPTY: TranscriptionDraft = { model: '', language: '' };

/** Writes down a recording. */
export function TranscriptionTab(props: TabProps) {
  const { id } = useOrganization();
  const [draft, setDraft] = useDraft(`${id} transcription`, EMPTY);
  const [file, setFile] = useState<File | null>(null);
  const { results, pending, error, run } = useResults<TranscriptionResult>('transcription');
  const model = modelOf(props, draft.model);
  const body = bodyOf(model, draft);
  return (
    <FormLayout
      submit="Transcribe"
      ready={file !== null}
      pending={pending}
      onSubmit={() => {
        if (file !== null) run((signal) => transcribe(id, body, file, signal));
      }}
      actions={
        <CodeButton
          build={() => ({
            path: '/v1/audio/transcriptions',
            sdk: 'audio.transcriptions.create',
            body,
            file: { field: 'file', name: file?.name ?? 'recording.mp3' },
          })}
        />
      }
      results={
        <>
          {error !== null && <RequestFailure error={error} />}
          {results.length === 0 && error === null && !pending && (
            <Empty title="No transcript yet">Choose a recording, or speak into the microphone.</Empty>
          )}
          {results.map((result) => (
            <Transcript key={result.requestId} result={result} />
          ))}
        </>
      }
    >
      <ModelField
        label="Model"
        models={props.models}
        value={model.id}
        onChange={(next) => setDraft({ ...draft, model: next })}
      />
      <FileField label="Recording" accept="audio/*,video/*" file={file} onChange={setFile} />
      <MicrophoneButton onRecorded={setFile} />
      <label className="flex flex-col gap-1">
        <span className="font-medium">Language (optional)</span>
        <input
          className="control"
          placeholder="en"
          maxLength={32}
          value={draft.language}
          onChange={(event) => setDraft({ ...draft, language: event.currentTarget.value })}
        />
      </label>
    </FormLayout>
  );
}

function bodyOf({ id, features }: Model, { language }: TranscriptionDraft): Readonly<Record<string, string>> {
  return {
    model: id,
    ...(language.trim() !== '' && { language: language.trim() }),
    response_format: Array.isArray(features.timestamps) ? 'verbose_json' : 'json',
  };
}

async function transcribe(
  organizationId: string,
  body: Readonly<Record<string, string>>,
  file: File,
  signal: AbortSignal,
): Promise<TranscriptionResult> {
  const startedAt = performance.now();
  const form = new FormData();
  form.append('file', file);
  for (const [name, value] of Object.entries(body)) form.append(name, value);
  const reply = await callV1(organizationId, '/v1/audio/transcriptions', { body: form, signal });
  const { text, segments = [] } = (await reply.json()) as { text: string; segments?: readonly Segment[] };
  const totalMs = Math.round(performance.now() - startedAt);
  return {
    fileName: file.name,
    urls: [URL.createObjectURL(file)],
    bytes: file.size,
    text,
    segments,
    costMicro: costOf(reply),
    requestId: requestIdOf(reply),
    totalMs,
  };
}

function Transcript({ result }: { readonly result: Settled<TranscriptionResult> }) {
  const { fileName, urls, text, segments, costMicro, requestId, totalMs, fallbackCalls } = result;
  const player = useRef<HTMLAudioElement>(null);
  const playFrom = (seconds: number): void => {
    if (player.current === null) return;
    player.current.currentTime = seconds;
    void player.current.play();
  };
  const name = fileName.replace(/\.\w+$/, '');
  return (
    <article className="rounded-xl border bg-surface p-4">
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption -- the transcript is below */}
      <audio ref={player} src={urls[0]} controls aria-label={fileName} className="mb-3 w-full" />
      {segments.length === 0 ? (
        <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
      ) : (
        <ol className="space-y-1">
          {segments.map(({ start, text: spoken }, index) => (
            <li key={index} className="flex gap-3">
              <Button variant="quiet" small className="tabular-nums" onClick={() => playFrom(start)}>
                {formatDuration(start * 1000)}
              </Button>
              <span className="min-w-0 wrap-anywhere">{spoken}</span>
            </li>
          ))}
        </ol>
      )}
      <div className="mt-3 flex flex-wrap gap-2">
        <CopyButton text={text} object="text" showLabel />
        {segments.length > 0 && (
          <>
            <Button small onClick={() => saveText(`${name}.srt`, 'application/x-subrip', toSrt(segments))}>
              SRT
            </Button>
            <Button small onClick={() => saveText(`${name}.vtt`, 'text/vtt', toVtt(segments))}>
              VTT
            </Button>
          </>
        )}
      </div>
      <ReceiptLine costMicro={costMicro} requestId={requestId} totalMs={totalMs} fallbackCalls={fallbackCalls} />
    </article>
  );
}
