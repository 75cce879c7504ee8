import { useState } from 'react';
import type { ModalityGroup } from '../../../contract/dashboard';
import { LATEST_UTC_INPUT } from '../../format/time';
import { Checkbox } from '../../ui/checkbox';
import { TextAreaField, TextField } from '../../ui/form';
import { LIMIT_FIELDS, LIMIT_LABELS, MODALITY_LABELS, type SettingsTexts } from './key-settings';

/** Digits with at most six decimals, as `parseDollars` reads them. */
const DOLLARS = String.raw`\d{1,10}(\.\d{1,6})?`;
const MODALITIES = Object.keys(MODALITY_LABELS) as readonly ModalityGroup[];

interface SettingsFieldsProps {
  readonly texts: SettingsTexts;
  /** Whether the restrictions are shown at once. */
  readonly open: boolean;
}

/** The settings of a key: its name, and restrictions that are empty unless wanted. */
export function SettingsFields({ texts, open }: SettingsFieldsProps) {
  return (
    <>
      <TextField
        name="name"
        label="Name"
        hint="Where the key is used, for example “billing service, production”."
        maxLength={200}
        autoComplete="off"
        defaultValue={texts.name}
        autoFocus
      />
      <details open={open} className="rounded-lg border">
        <summary className="rounded-lg px-4 py-2.5 font-medium hover:bg-sunken">
          Budgets, limits and restrictions
        </summary>
        <div className="space-y-6 px-4 pt-2 pb-4">
          <p className="text-muted">An empty field means no restriction.</p>
          <Budgets texts={texts} />
          <Limits texts={texts} />
          <Scope texts={texts} />
        </div>
      </details>
    </>
  );
}

function Budgets({ texts }: { readonly texts: SettingsTexts }) {
  const dollars = { inputMode: 'decimal', pattern: DOLLARS, title: 'Dollars, for example 12.50' } as const;
  return (
    <Group title="Budget in dollars">
      <TextField
        name="daily_budget_micro"
        label="Per day (UTC)"
        defaultValue={texts.daily_budget_micro}
        autoComplete="off"
        {...dollars}
      />
      <TextField
        name="monthly_budget_micro"
        label="Per month (UTC)"
        defaultValue={texts.monthly_budget_micro}
        autoComplete="off"
        {...dollars}
      />
    </Group>
  );
}

function Limits({ texts }: { readonly texts: SettingsTexts }) {
  return (
    <Group title="Rate limits">
      {LIMIT_FIELDS.map((name) => (
        <TextField
          key={name}
          name={name}
          label={LIMIT_LABELS[name]}
          type="number"
          min={1}
          max={2_147_483_647}
          defaultValue={texts[name]}
        />
      ))}
    </Group>
  );
}

function Scope({ texts }: { readonly texts: SettingsTexts }) {
  const [chosen, setChosen] = useState(() => new Set(texts.allowed_modalities.split('\n').filter((group) => group)));
  const toggle = (group: ModalityGroup): void => {
    const next = new Set(chosen);
    if (!next.delete(group)) next.add(group);
    setChosen(next);
  };
  return (
    <>
      <fieldset>
        <legend className="mb-2 font-semibold">Modalities</legend>
        <div className="grid gap-2 sm:grid-cols-2">
          {MODALITIES.map((group) => (
            <Checkbox
              key={group}
              label={MODALITY_LABELS[group]}
              checked={chosen.has(group)}
              onChange={() => toggle(group)}
            />
          ))}
        </div>
        <input type="hidden" name="allowed_modalities" value={[...chosen].join('\n')} />
      </fieldset>
      <TextAreaField
        name="allowed_models"
        label="Models"
        rows={2}
        hint="One per line: a model ID, or vendor/* for all models of a vendor."
        defaultValue={texts.allowed_models}
      />
      <TextAreaField
        name="allowed_ips"
        label="IP addresses"
        rows={2}
        hint="One address or CIDR range per line."
        defaultValue={texts.allowed_ips}
      />
      <TextField
        name="expires_at"
        label="Expires (UTC)"
        type="datetime-local"
        max={LATEST_UTC_INPUT}
        defaultValue={texts.expires_at}
      />
    </>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <fieldset>
      <legend className="mb-2 font-semibold">{title}</legend>
      <div className="grid gap-4 sm:grid-cols-2">{children}</div>
    </fieldset>
  );
}
