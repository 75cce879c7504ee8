import type { Model } from '../../../contract/dashboard';
import { NumberField, TextArea } from './chat-settings-panel';
import { ChoiceField } from './choice-field';
import { ModelField } from './model-field';

export interface JobDraft {
  readonly model: string;
  readonly prompt: string;
  /** Seconds; empty: the default. */
  readonly duration: string;
  readonly resolution: string;
  readonly aspectRatio: string;
  readonly audio: string;
  readonly format: string;
  readonly imageUrl: string;
  readonly instrumental: boolean;
}

export const NO_JOB_DRAFT: JobDraft = {
  model: '',
  prompt: '',
  duration: '',
  resolution: '',
  aspectRatio: '',
  audio: '',
  format: '',
  imageUrl: '',
  instrumental: false,
};

const SOUND = ['with sound', 'without sound'];

/** The body of the request. Values that the model does not offer are left out. */
export function jobBody({ id, modality, media }: Model, draft: JobDraft): Readonly<Record<string, unknown>> {
  const { prompt, duration, resolution, aspectRatio, audio, format, imageUrl, instrumental } = draft;
  const isVideo = modality === 'video';
  return {
    model: id,
    prompt,
    ...(duration !== '' && { duration_seconds: Number(duration) }),
    ...(media?.resolutions?.includes(resolution) === true && { resolution }),
    ...(media?.aspect_ratios?.includes(aspectRatio) === true && { aspect_ratio: aspectRatio }),
    ...(isVideo && media?.audio === 'optional' && audio !== '' && { audio: audio === SOUND[0] }),
    ...(isVideo && media?.first_frame === true && imageUrl.trim() !== '' && { image_url: imageUrl.trim() }),
    ...(!isVideo && media?.formats?.includes(format) === true && { format }),
    ...(!isVideo && instrumental && { instrumental }),
  };
}

interface JobFieldsProps {
  readonly kind: 'video' | 'music';
  readonly models: readonly Model[];
  readonly model: Model;
  readonly draft: JobDraft;
  readonly onChange: (draft: JobDraft) => void;
}

export function JobFields({ kind, models, model, draft, onChange }: JobFieldsProps) {
  const { media } = model;
  const set = (changes: Partial<JobDraft>): void => onChange({ ...draft, ...changes });
  const durations = media?.durations;
  return (
    <>
      <ModelField
        label="Model"
        models={models}
        value={model.id}
        onChange={(next) => set({ model: next, duration: '' })}
      />
      <TextArea label="Prompt" rows={4} value={draft.prompt} onChange={(prompt) => set({ prompt })} />
      {Array.isArray(durations) ? (
        <ChoiceField
          label="Seconds"
          options={durations.map(String)}
          value={draft.duration}
          onChange={(duration) => set({ duration })}
        />
      ) : (
        <NumberField
          label="Seconds"
          min={durations?.min}
          max={durations?.max}
          step={durations?.step ?? 1}
          value={draft.duration}
          onChange={(duration) => set({ duration })}
        />
      )}
      {kind === 'video' ? (
        <>
          <ChoiceField
            label="Resolution"
            options={media?.resolutions}
            value={draft.resolution}
            onChange={(resolution) => set({ resolution })}
          />
          <ChoiceField
            label="Aspect ratio"
            options={media?.aspect_ratios}
            value={draft.aspectRatio}
            onChange={(aspectRatio) => set({ aspectRatio })}
          />
          {media?.audio === 'optional' && (
            <ChoiceField label="Sound" options={SOUND} value={draft.audio} onChange={(audio) => set({ audio })} />
          )}
          {media?.first_frame === true && (
            <label className="flex flex-col gap-1">
              <span className="font-medium">URL of the first frame (optional)</span>
              <input
                type="url"
                pattern="https://.+"
                title="An address that begins with https://"
                className="control"
                value={draft.imageUrl}
                onChange={(event) => set({ imageUrl: event.currentTarget.value })}
              />
            </label>
          )}
        </>
      ) : (
        <>
          <ChoiceField
            label="Format"
            options={media?.formats}
            value={draft.format}
            onChange={(format) => set({ format })}
          />
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={draft.instrumental}
              onChange={(event) => set({ instrumental: event.currentTarget.checked })}
            />
            Instrumental
          </label>
        </>
      )}
    </>
  );
}
