import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { ApiKey } from '../../../contract/dashboard';
import { fieldError } from '../../api/field-error';
import { OPERATIONS } from '../../api/request-search';
import { oneOf } from '../../app/search-values';
import { jsonErrorLine } from '../../format/json-error';
import { Card } from '../../ui/card';
import { ChangeForm, SelectField, TextAreaField, TextField } from '../../ui/form';
import { exampleBody, OPERATION_FACTS } from './example-request';
import type { Question } from './question';
import { forgetHandedRequest, handedRequest } from './handed-request';

interface ExplainFormProps {
  readonly keys: readonly ApiKey[];
  readonly firstKey: string | undefined;
  readonly models: ReadonlyArray<{ readonly id: string; readonly modality: string }>;
  readonly pending: boolean;
  readonly error: Error | null;
  readonly onSubmit: (question: Question) => void;
}

const DEFAULT_OPERATION = 'createChatCompletion';

export function ExplainForm({ keys, firstKey, models, pending, error, onSubmit }: ExplainFormProps) {
  const { operation = DEFAULT_OPERATION, model } = useSearch({ from: '/signed-in/o/$org/explain' });
  const navigate = useNavigate({ from: '/o/$org/explain' });
  // What the reader typed or brought from the playground; without it, the example of the operation.
  const [typed, setTyped] = useState(handedRequest);
  useEffect(() => forgetHandedRequest, []);
  const [syntaxError, setSyntaxError] = useState<Error | null>(null);
  const body = typed ?? exampleBody(operation, models, model);
  const keyId = firstKey ?? keys[0]?.id ?? '';
  return (
    <Card title="Request">
      <ChangeForm
        fields={['key_id', 'request', 'client_ip']}
        submit="Explain"
        pending={pending}
        error={syntaxError ?? error}
        onSubmit={({ client_ip: clientIp = '' }) => {
          const mistake = bodyError(body);
          setSyntaxError(mistake);
          if (mistake === null) onSubmit({ keyId, operation, body, clientIp: clientIp.trim() });
        }}
      >
        <SelectField
          name="key_id"
          label="API key"
          value={keyId}
          options={keys.map(({ id, name, last4, status }) => [
            id,
            `${name} (…${last4}${status === 'active' ? '' : `, ${status}`})`,
          ])}
          onChange={(key) => void navigate({ search: (search) => ({ ...search, key }), replace: true })}
        />
        <SelectField
          name="operation"
          label="Operation"
          value={operation}
          options={OPERATIONS.map((each) => [each, OPERATION_FACTS[each].label])}
          onChange={(next) =>
            void navigate({
              search: (search) => ({ ...search, operation: oneOf(next, OPERATIONS), model: undefined }),
              replace: true,
            })
          }
        />
        <TextAreaField
          name="request"
          label="Body (JSON)"
          rows={12}
          spellCheck={false}
          required
          value={body}
          hint={
            operation === 'createTranscription'
              ? 'The fields of the form, with duration_seconds in place of the file.'
              : undefined
          }
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setSyntaxError(null);
          }}
        />
        <TextField
          name="client_ip"
          label="Client IP address (optional)"
          placeholder="203.0.113.9"
          autoComplete="off"
          hint="Checked against the addresses that the key allows. Leave empty to skip this check."
        />
      </ChangeForm>
    </Card>
  );
}

function bodyError(body: string): Error | null {
  const line = jsonErrorLine(body);
  if (line !== null) return fieldError('request', `Not valid JSON: see line ${line}.`);
  return body.trimStart().startsWith('{') ? null : fieldError('request', 'Enter a JSON object, in braces.');
}
