import { useState } from 'react';
import { currentTheme, setPreferences, setTheme, usePreferences, type Theme } from '../../app/preferences';
import { zoneName } from '../../format/time';
import { Card } from '../../ui/card';
import { Checkbox } from '../../ui/checkbox';

const THEMES: ReadonlyArray<readonly [Theme, string]> = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/** What this browser remembers; applies at once. */
export function PreferencesCard() {
  const { timeZone, dense, singleKeyShortcuts } = usePreferences();
  const [theme, setShownTheme] = useState(currentTheme);
  return (
    <Card title="Preferences" description="Saved in this browser.">
      <div className="space-y-4">
        <Choice
          name="theme"
          label="Theme"
          value={theme}
          options={THEMES}
          onChange={(next) => {
            setTheme(next);
            setShownTheme(next);
          }}
        />
        <Choice
          name="times"
          label="Times"
          value={timeZone}
          options={[
            ['local', `Local time (${zoneName('local')})`],
            ['utc', 'UTC'],
          ]}
          onChange={(next) => setPreferences({ timeZone: next })}
        />
        <Checkbox
          label="Dense tables"
          checked={dense}
          onChange={({ currentTarget }) => setPreferences({ dense: currentTarget.checked })}
        />
        <Checkbox
          label="Single-key shortcuts"
          hint="Letters such as j, k and g. Press ? to list them."
          checked={singleKeyShortcuts}
          onChange={({ currentTarget }) => setPreferences({ singleKeyShortcuts: currentTarget.checked })}
        />
      </div>
    </Card>
  );
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly label: string;
  readonly value: Value;
  readonly options: ReadonlyArray<readonly [Value, string]>;
  readonly onChange: (value: Value) => void;
}

/** A few options, all visible. */
function Choice<Value extends string>({ name, label, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{label}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-1">
        {options.map(([option, text]) => (
          <label key={option} className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name={name}
              className="size-4 accent-accent"
              checked={option === value}
              onChange={() => onChange(option)}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
