import { useId } from 'react';
import type { Model } from '../../../contract/dashboard';
import { ChoiceField } from './choice-field';
import type { ChatSettings } from './chat-request';

interface ChatSettingsPanelProps {
  readonly models: readonly Model[];
  readonly settings: ChatSettings;
  readonly onChange: (settings: ChatSettings) => void;
}

/** Options that at least one of the models has. */
export function ChatSettingsPanel({ models, settings, onChange }: ChatSettingsPanelProps) {
  const set = (changes: Partial<ChatSettings>): void => onChange({ ...settings, ...changes });
  const has = (test: (features: Model['features']) => boolean): boolean =>
    models.some(({ features }) => test(features));
  const efforts = [...new Set(models.flatMap(({ features }) => features.reasoning ?? []))];
  const maxOutput = Math.max(...models.map(({ max_output_tokens: max = 0 }) => max));
  const formats = [
    ['text', 'Text'],
    ...(has(({ json_object: json }) => json === true) ? [['json_object', 'JSON']] : []),
    ...(has(({ json_schema: json }) => json === true) ? [['json_schema', 'JSON schema']] : []),
  ] as const;
  return (
    <div className="space-y-3">
      <TextArea label="System prompt" rows={4} value={settings.system} onChange={(system) => set({ system })} />
      <div className="grid grid-cols-2 gap-3">
        {has(({ sampling }) => sampling !== false) && (
          <NumberField
            label="Temperature"
            min={0}
            max={2}
            step={0.1}
            value={settings.temperature}
            onChange={(temperature) => set({ temperature })}
          />
        )}
        <NumberField
          label="Max. tokens"
          min={1}
          max={maxOutput === 0 ? undefined : maxOutput}
          step={1}
          value={settings.maxTokens}
          onChange={(maxTokens) => set({ maxTokens })}
        />
      </div>
      <ChoiceField
        label="Reasoning effort"
        options={efforts}
        value={settings.reasoningEffort}
        onChange={(reasoningEffort) => set({ reasoningEffort })}
      />
      {formats.length > 1 && (
        <label className="flex flex-col gap-1">
          <span className="font-medium">Response format</span>
          <select
            className="control"
            value={settings.format}
            onChange={(event) => set({ format: event.currentTarget.value as ChatSettings['format'] })}
          >
            {formats.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      {settings.format === 'json_schema' && (
        <TextArea label="JSON schema" rows={8} code value={settings.schema} onChange={(schema) => set({ schema })} />
      )}
    </div>
  );
}

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows: number;
  readonly code?: boolean;
}

export function TextArea({ label, value, onChange, rows, code = false }: TextAreaProps) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        className={`control resize-y ${code ? 'font-mono text-[0.8125rem]' : ''}`}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
}

export function NumberField({ label, value, onChange, ...limits }: NumberFieldProps) {
  return (
    <label className="flex min-w-0 flex-col gap-1">
      <span className="font-medium">{label}</span>
      <input
        type="number"
        inputMode="decimal"
        placeholder="Default"
        className="control"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        {...limits}
      />
    </label>
  );
}
