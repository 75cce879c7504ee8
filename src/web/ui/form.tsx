import { Field } from '@base-ui/react/field';
import { Form } from '@base-ui/react/form';
import {
  useLayoutEffect,
  useMemo,
  useRef,
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
} from 'react';
import { isApiError } from '../api/errors';
import { ErrorText } from '../app/failure-view';
import { Banner } from './banner';
import { Button } from './button';

interface ChangeFormProps {
  readonly children: ReactNode;
  /** Called with the text of each field by name. */
  readonly onSubmit: (values: Readonly<Record<string, string>>) => void;
  readonly error: Error | null;
  readonly pending: boolean;
  readonly submit: string;
  /** The button reads `submit`, for example `Save`; `danger` for changes that cannot be undone. */
  readonly variant?: 'primary' | 'danger';
  readonly disabled?: boolean;
  /** Buttons next to the submit button. */
  readonly actions?: ReactNode;
  /** Names of the fields: an error whose `param` is one of them appears at the field, others above the button. */
  readonly fields: readonly string[];
}

/** A form whose constraints are HTML attributes and whose other errors come from the API. */
export function ChangeForm(props: ChangeFormProps) {
  const { children, onSubmit, error, pending, submit, variant = 'primary', disabled, actions, fields } = props;
  const field = isApiError(error) ? fieldOf(error.param, fields) : undefined;
  // The form forgets an error when its field changes, and shows it again for a new object.
  const errors = useMemo(() => (field === undefined ? {} : { [field]: error?.message ?? '' }), [error, field]);
  const form = useRef<HTMLFormElement>(null);
  // Before the form gives the focus to the field.
  useLayoutEffect(() => {
    if (form.current !== null) reveal(form.current, ({ name }) => Object.hasOwn(errors, name));
  }, [errors]);
  return (
    <Form
      ref={form}
      className="space-y-4"
      errors={errors}
      onSubmitCapture={(event) => reveal(event.currentTarget, ({ validity }) => !validity.valid)}
      onSubmit={(event) => {
        event.preventDefault();
        const entries = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)]);
        onSubmit(Object.fromEntries(entries) as Record<string, string>);
      }}
    >
      {children}
      {error !== null && field === undefined && (
        <Banner tone="bad" role="alert">
          <ErrorText error={error} />
        </Banner>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant={variant} pending={pending} disabled={disabled}>
          {submit}
        </Button>
        {actions}
      </div>
    </Form>
  );
}

/** Opens the closed details around wrong fields, whose errors would be hidden. */
function reveal(form: HTMLFormElement, isWrong: (field: HTMLInputElement) => boolean): void {
  for (const field of form.querySelectorAll<HTMLInputElement>('details :is(input, select, textarea)')) {
    const around = isWrong(field) ? field.closest('details') : null;
    if (around !== null) around.open = true;
  }
}

/**
 * `limits.requests_per_minute` marks the field of that name, or of its last part; `allowed_ips[1]` that of the list.
 */
function fieldOf(param: string | undefined, fields: readonly string[]): string | undefined {
  if (param === undefined) return undefined;
  const list = param.replace(/\[\d+\]$/, '');
  const last = list.slice(list.lastIndexOf('.') + 1);
  return fields.find((name) => name === list) ?? fields.find((name) => name === last);
}

interface FieldFrameProps {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** What the control takes. Browsers say only that a format is wrong, and not which is right. */
  readonly format?: string;
  readonly children: ReactNode;
}

/** Label, hint and error around a control. */
function FieldFrame({ name, label, hint, format, children }: FieldFrameProps) {
  return (
    <Field.Root name={name} className="flex flex-col gap-1">
      <Field.Label className="font-medium">{label}</Field.Label>
      {children}
      {hint !== undefined && <Field.Description className="text-muted">{hint}</Field.Description>}
      <Field.Validity>
        {({ validity: { patternMismatch } }) => (
          <Field.Error
            className="font-medium text-bad"
            {...(patternMismatch && format !== undefined ? { children: format } : {})}
          />
        )}
      </Field.Validity>
    </Field.Root>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

export function TextField({ name, label, hint, ...input }: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <FieldFrame name={name} label={label} hint={hint} format={input.title}>
      <Field.Control className="control" {...(input as object)} />
    </FieldFrame>
  );
}

export function TextAreaField({
  name,
  label,
  hint,
  ...area
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <FieldFrame name={name} label={label} hint={hint}>
      <Field.Control render={<textarea {...area} className="control font-mono text-[0.8125rem]" />} />
    </FieldFrame>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly options: ReadonlyArray<readonly [value: string, label: string]>;
  readonly defaultValue?: string;
  readonly value?: string;
  readonly onChange?: (value: string) => void;
  readonly disabled?: boolean;
}

export function SelectField({ name, label, hint, options, onChange, ...select }: SelectFieldProps) {
  return (
    <FieldFrame name={name} label={label} hint={hint}>
      <Field.Control
        render={
          <select
            {...select}
            className="control"
            onChange={onChange === undefined ? undefined : (event) => onChange(event.currentTarget.value)}
          >
            {options.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        }
      />
    </FieldFrame>
  );
}
