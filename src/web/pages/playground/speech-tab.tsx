import type { Model } from '../../../contract/dashboard';
import { callV1, costOf, requestIdOf } from '../../api/v1';
import { useOrganization } from '../../app/use-session';
import { ButtonAnchor } from '../../ui/button';
import { Empty } from '../../ui/empty';
import { Download } from '../../ui/icons';
import { NumberField, TextArea } from './chat-settings-panel';
import { ChoiceField } from './choice-field';
import { CodeButton } from './code-button';
import { EstimateLine } from './estimate-line';
import { RequestFailure } from './failure';
import { FormLayout } from './form-layout';
import { ModelField } from './model-field';
import { ReceiptLine } from './receipt-line';
import { modelOf, type TabProps } from './tab';
import { useDraft } from './use-draft';
import type { TabResult } from './result-store';
import { useResults, type Settled } from './use-results';

interface SpeechDraft {
  readonly model: string;
  readonly input: string;
  readonly voice: string;
  readonly format: string;
  readonly speed: string;
  readonly instructions: string;
}

interface SpeechResult extends TabResult {
  readonly input: string;
  /** `blob:` URL of the sound. */
  readonly urls: readonly [string];
  readonly format: string;
  readonly totalMs: number;
}

const EMPTY: SpeechDraft = { model: '', input: '', voice: '', format: '', speed: '', instructions: '' };
/** Without a header, so no player can play it. */
const RAW_FORMAT = 'pcm';

/** Speaks a text. */
export function SpeechTab(props: TabProps) {
  const { id } = useOrganization();
  const [draft, setDraft] = useDraft(`${id} speech`, EMPTY);
  const { results, pending, error, run } = useResults<SpeechResult>('speech');
  const model = modelOf(props, draft.model);
  const voices = model.media?.voices;
  const formats = (model.media?.formats ?? ['mp3']).filter((format) => format !== RAW_FORMAT);
  const set = (changes: Partial<SpeechDraft>): void => setDraft({ ...draft, ...changes });
  const body = bodyOf(model, draft, formats);
  const ready = draft.input.trim() !== '' && body.voice !== '';
  return (
    <FormLayout
      submit="Speak"
      ready={ready}
      pending={pending}
      onSubmit={() => run((signal) => speak(id, body, signal))}
      actions={<CodeButton build={() => ({ path: '/v1/audio/speech', sdk: 'audio.speech.create', body })} />}
      note={<EstimateLine operation="createSpeech" request={body} enabled={ready && !pending} />}
      results={
        <>
          {error !== null && <RequestFailure error={error} />}
          {results.length === 0 && error === null && !pending && (
            <Empty title="No speech yet">Enter a text and choose a voice.</Empty>
          )}
          {results.map((result) => (
            <SpeechCard key={result.requestId} result={result} />
          ))}
        </>
      }
    >
      <ModelField label="Model" models={props.models} value={model.id} onChange={(next) => set({ model: next })} />
      <TextArea label="Text" rows={6} value={draft.input} onChange={(input) => set({ input })} />
      {voices === undefined ? (
        <label className="flex flex-col gap-1">
          <span className="font-medium">Voice</span>
          <input
            className="control"
            value={draft.voice}
            onChange={(event) => set({ voice: event.currentTarget.value })}
          />
        </label>
      ) : (
        <ChoiceField label="Voice" required options={voices} value={body.voice} onChange={(voice) => set({ voice })} />
      )}
      <ChoiceField
        label="Format"
        required
        options={formats}
        value={body.response_format}
        onChange={(format) => set({ format })}
      />
      {model.features.speed === true && (
        <NumberField
          label="Speed"
          min={0.25}
          max={4}
          step={0.05}
          value={draft.speed}
          onChange={(speed) => set({ speed })}
        />
      )}
      {model.features.instructions === true && (
        <TextArea
          label="Instructions"
          rows={2}
          value={draft.instructions}
          onChange={(instructions) => set({ instructions })}
        />
      )}
    </FormLayout>
  );
}

function bodyOf({ id, media, features }: Model, draft: SpeechDraft, formats: readonly string[]) {
  const { input, voice, format, speed, instructions } = draft;
  const voices = media?.voices;
  return {
    model: id,
    input,
    voice: voices === undefined || voices.includes(voice) ? voice : (voices[0] ?? ''),
    response_format: formats.includes(format) ? format : (formats[0] ?? 'mp3'),
    ...(speed !== '' && features.speed === true && { speed: Number(speed) }),
    ...(instructions !== '' && features.instructions === true && { instructions }),
  };
}

async function speak(
  organizationId: string,
  body: ReturnType<typeof bodyOf>,
  signal: AbortSignal,
): Promise<SpeechResult> {
  const startedAt = performance.now();
  const reply = await callV1(organizationId, '/v1/audio/speech', { body, signal });
  const sound = await reply.blob();
  const totalMs = Math.round(performance.now() - startedAt);
  const { input, response_format: format } = body;
  return {
    input,
    urls: [URL.createObjectURL(sound)],
    bytes: sound.size,
    format,
    costMicro: costOf(reply),
    requestId: requestIdOf(reply),
    totalMs,
  };
}

function SpeechCard({ result }: { readonly result: Settled<SpeechResult> }) {
  const { input, urls, format, costMicro, requestId, totalMs, fallbackCalls } = result;
  return (
    <article className="rounded-xl border bg-surface p-4">
      <p className="mb-3 line-clamp-3 wrap-anywhere">{input}</p>
      <div className="flex flex-wrap items-center gap-3">
        {/* oxlint-disable-next-line jsx-a11y/media-has-caption -- the text above is what it says */}
        <audio src={urls[0]} controls aria-label="Spoken text" className="max-w-full grow" />
        <ButtonAnchor href={urls[0]} download={`speech.${format}`}>
          <Download size={14} aria-hidden="true" />
          Download
        </ButtonAnchor>
      </div>
      <ReceiptLine costMicro={costMicro} requestId={requestId} totalMs={totalMs} fallbackCalls={fallbackCalls} />
    </article>
  );
}
