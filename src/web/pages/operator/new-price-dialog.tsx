import { useState } from 'react';
import type { Deployment, OperatorModel, PriceVersion, PriceVersionCreation } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys, type ModelPath } from '../../api/operator';
import { fieldError } from '../../api/field-error';
import { useNotice } from '../../app/notices';
import { fromUtcInput, LATEST_UTC_INPUT } from '../../format/time';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField, TextAreaField, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { dollarsOf, type FormValues } from './limit-fields';
import { amountsOf, EMPTY_PRICES, withAmounts, type PriceContent } from './price-content';
import { PriceFields, fieldName } from './price-fields';
import { timelineOf } from './price-timeline';
import { scopeName } from './words';

interface NewPriceDialogProps {
  readonly model: OperatorModel;
  readonly path: ModelPath;
  readonly deployments: readonly Deployment[];
  readonly versions: readonly PriceVersion[];
  readonly onClose: () => void;
}

/** Sets a price from now or later, starting with the amounts of the one in force. */
export function NewPriceDialog({ model, path, deployments, versions, onClose }: NewPriceDialogProps) {
  const notice = useNotice();
  const [deploymentId, setDeploymentId] = useState('');
  const [asJson, setAsJson] = useState(false);
  const present = priceInForce(versions, deploymentId || null);
  const base: PriceContent = present ?? EMPTY_PRICES[model.modality];
  const amounts = amountsOf(base, true);
  const create = useChange({
    change: (body: FormValues) =>
      unwrap(
        api.POST('/dashboard/api/operator/models/{vendor}/{name}/prices', {
          params: { path },
          body: toRequest(body, base, asJson),
        }),
      ),
    invalidates: [operatorKeys.models, operatorKeys.deployments, operatorKeys.audit],
    onDone: () => {
      notice('Price set');
      onClose();
    },
  });
  return (
    <Dialog title={`New price of ${model.id}`} onClose={onClose} wide>
      <ChangeForm
        fields={['deployment_id', 'effective_from', 'effective_to', 'reference', 'price', ...amounts.map(fieldName)]}
        submit="Set price"
        pending={create.pending}
        error={create.error}
        onSubmit={create.run}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <SelectField
          name="deployment_id"
          label="Applies to"
          value={deploymentId}
          onChange={setDeploymentId}
          options={[
            ['', scopeName(null, deployments)],
            ...deployments.map(({ id }) => [id, scopeName(id, deployments)] as const),
          ]}
        />
        {asJson ? (
          <TextAreaField
            key={deploymentId}
            name="price"
            label="Price as JSON"
            hint="Like a price in a catalogue file, in micro-dollars."
            rows={12}
            required
            spellCheck={false}
            defaultValue={JSON.stringify(base, null, 2)}
          />
        ) : (
          <PriceFields key={deploymentId} amounts={amounts} hasPresent={present !== null} />
        )}
        <Button small variant="quiet" className="-ms-2" onClick={() => setAsJson(!asJson)}>
          {asJson ? 'Edit the amounts' : 'Edit as JSON'}
        </Button>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            name="effective_from"
            label="Start (UTC)"
            hint="Empty: now"
            type="datetime-local"
            max={LATEST_UTC_INPUT}
          />
          <TextField
            name="effective_to"
            label="End (UTC)"
            hint="Empty: until the next one begins"
            type="datetime-local"
            max={LATEST_UTC_INPUT}
          />
        </div>
        <TextField name="reference" label="Reference" hint="The source of the figures." required maxLength={500} />
      </ChangeForm>
    </Dialog>
  );
}

/** What the scope costs now: its own price, else that of the model. */
function priceInForce(versions: readonly PriceVersion[], deploymentId: string | null): PriceContent | null {
  for (const scope of [deploymentId, null]) {
    const price = timelineOf(versions, scope).find(({ state }) => state === 'in force')?.version.price;
    if (price != null) return price;
  }
  return null;
}

/** @throws ApiError that marks the field. */
function toRequest(values: FormValues, base: PriceContent, asJson: boolean): PriceVersionCreation {
  const time = (name: string): string | null => (values[name] ? fromUtcInput(values[name]) : null);
  return {
    deployment_id: values.deployment_id || null,
    effective_from: time('effective_from'),
    effective_to: time('effective_to'),
    reference: values.reference ?? '',
    price: asJson ? parsePrice(values.price ?? '') : priceOf(values, base),
  };
}

function priceOf(values: FormValues, base: PriceContent): Record<string, unknown> {
  return withAmounts(
    base,
    new Map(
      amountsOf(base, true)
        .filter((amount) => fieldName(amount) in values)
        .map((amount) => [amount.path, dollarsOf(values, fieldName(amount))]),
    ),
  );
}

function parsePrice(text: string): Record<string, unknown> {
  try {
    const price: unknown = JSON.parse(text);
    if (typeof price === 'object' && price !== null && !Array.isArray(price)) return { ...price };
  } catch {
    // The error below explains the fault of the field.
  }
  throw fieldError('price', 'This is not a JSON object. Enter one in braces.');
}
