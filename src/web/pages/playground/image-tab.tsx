import { useState } from 'react';
import type { Model } from '../../../contract/dashboard';
import { callV1, costOf, requestIdOf } from '../../api/v1';
import { useOrganization } from '../../app/use-session';
import { ButtonAnchor } from '../../ui/button';
import { Empty } from '../../ui/empty';
import { Download } from '../../ui/icons';
import { TextArea } from './chat-settings-panel';
import { ChoiceField } from './choice-field';
import { CodeButton } from './code-button';
import { EstimateLine } from './estimate-line';
import { RequestFailure } from './failure';
import { FileField } from './file-field';
import { FormLayout } from './form-layout';
import { ModelField } from './model-field';
import { ReceiptLine } from './receipt-line';
import { modelOf, type TabProps } from './tab';
import { useDraft } from './use-draft';
import type { TabResult } from './result-store';
import { useResults, type Settled } from './use-results';

interface ImageDraft {
  readonly model: string;
  readonly prompt: string;
  readonly size: string;
  readonly quality: string;
  readonly style: string;
  readonly format: string;
  readonly background: string;
}

interface ImageResult extends TabResult {
  readonly prompt: string;
  readonly totalMs: number;
}

const EMPTY: ImageDraft = { model: '', prompt: '', size: '', quality: '', style: '', format: '', background: '' };

/** Makes pictures, or edits one. */
export function ImageTab(props: TabProps) {
  const { id } = useOrganization();
  const [draft, setDraft] = useDraft(`${id} image`, EMPTY);
  const [picture, setPicture] = useState<File | null>(null);
  const { results, pending, error, run } = useResults<ImageResult>('image');
  const model = modelOf(props, draft.model);
  const set = (changes: Partial<ImageDraft>): void => setDraft({ ...draft, ...changes });
  const body = bodyOf(model, draft);
  const source = model.features.edit === true ? picture : null;
  return (
    <FormLayout
      submit={source === null ? 'Generate image' : 'Edit image'}
      ready={draft.prompt.trim() !== ''}
      pending={pending}
      onSubmit={() => run((signal) => makeImages(id, body, draft.prompt, source, signal))}
      actions={
        <CodeButton
          build={() =>
            source === null
              ? { path: '/v1/images/generations', sdk: 'images.generate', body }
              : { path: '/v1/images/edits', sdk: 'images.edit', body, file: { field: 'image', name: source.name } }
          }
        />
      }
      note={
        source === null && (
          <EstimateLine operation="createImage" request={body} enabled={draft.prompt.trim() !== '' && !pending} />
        )
      }
      results={
        <>
          {error !== null && <RequestFailure error={error} />}
          {results.length === 0 && error === null && !pending && (
            <Empty title="No image yet">Describe one, and see what it costs before you send it.</Empty>
          )}
          {results.map((result) => (
            <ImageCard key={result.requestId} result={result} />
          ))}
        </>
      }
    >
      <ModelField label="Model" models={props.models} value={model.id} onChange={(next) => set({ model: next })} />
      <TextArea label="Prompt" rows={4} value={draft.prompt} onChange={(prompt) => set({ prompt })} />
      <ChoiceField label="Size" options={model.media?.sizes} value={draft.size} onChange={(size) => set({ size })} />
      <ChoiceField
        label="Quality"
        options={model.media?.qualities}
        value={draft.quality}
        onChange={(quality) => set({ quality })}
      />
      <ChoiceField
        label="Style"
        options={model.media?.styles}
        value={draft.style}
        onChange={(style) => set({ style })}
      />
      <ChoiceField
        label="Format"
        options={model.media?.formats}
        value={draft.format}
        onChange={(format) => set({ format })}
      />
      <ChoiceField
        label="Background"
        options={model.media?.backgrounds}
        value={draft.background}
        onChange={(background) => set({ background })}
      />
      {model.features.edit === true && (
        <FileField
          label="Image to edit (optional)"
          accept="image/png,image/jpeg,image/webp,image/gif"
          file={picture}
          onChange={setPicture}
        />
      )}
    </FormLayout>
  );
}

/** Values that another model had are left out. */
function bodyOf({ id, media }: Model, draft: ImageDraft): Readonly<Record<string, string>> {
  const { prompt, size, quality, style, format, background } = draft;
  return {
    model: id,
    prompt,
    ...(media?.sizes?.includes(size) === true && { size }),
    ...(media?.qualities?.includes(quality) === true && { quality }),
    ...(media?.styles?.includes(style) === true && { style }),
    ...(media?.formats?.includes(format) === true && { output_format: format }),
    ...(media?.backgrounds?.includes(background) === true && { background }),
    response_format: 'b64_json',
  };
}

async function makeImages(
  organizationId: string,
  body: Readonly<Record<string, string>>,
  prompt: string,
  source: File | null,
  signal: AbortSignal,
): Promise<ImageResult> {
  const startedAt = performance.now();
  const reply =
    source === null
      ? await callV1(organizationId, '/v1/images/generations', { body, signal })
      : await callV1(organizationId, '/v1/images/edits', { body: formOf(body, source), signal });
  const { data } = (await reply.json()) as { data: ReadonlyArray<{ b64_json?: string }> };
  const images = data.flatMap(({ b64_json: text }) => (text === undefined ? [] : [imageOf(text)]));
  const totalMs = Math.round(performance.now() - startedAt);
  return {
    prompt,
    urls: images.map((image) => URL.createObjectURL(image)),
    bytes: images.reduce((sum, { size }) => sum + size, 0),
    costMicro: costOf(reply),
    requestId: requestIdOf(reply),
    totalMs,
  };
}

function formOf(body: Readonly<Record<string, string>>, source: File): FormData {
  const form = new FormData();
  form.append('image', source);
  for (const [name, value] of Object.entries(body)) form.append(name, value);
  return form;
}

function imageOf(base64: string): Blob {
  const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
  return new Blob([bytes], { type: imageType(bytes) });
}

function imageType([first, second]: Uint8Array): string {
  if (first === 0x89) return 'image/png';
  return first === 0xff && second === 0xd8 ? 'image/jpeg' : 'image/webp';
}

function ImageCard({ result }: { readonly result: Settled<ImageResult> }) {
  const { prompt, urls, costMicro, requestId, totalMs, fallbackCalls } = result;
  return (
    <figure className="rounded-xl border bg-surface p-4">
      <div className="flex flex-wrap gap-3">
        {urls.map((url, index) => (
          <div key={url}>
            <img src={url} alt={prompt} className="max-h-96 max-w-full rounded-lg border" />
            <ButtonAnchor small className="mt-2" href={url} download={`picture-${index + 1}`}>
              <Download size={14} aria-hidden="true" />
              Download
            </ButtonAnchor>
          </div>
        ))}
      </div>
      <figcaption className="mt-2 wrap-anywhere">{prompt}</figcaption>
      <ReceiptLine costMicro={costMicro} requestId={requestId} totalMs={totalMs} fallbackCalls={fallbackCalls} />
    </figure>
  );
}
