import type { PriceVersion } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys, type ModelPath } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { fromUtcInput, LATEST_UTC_INPUT } from '../../format/time';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { PriceAmounts } from './price-amounts';
import { utcTimeText } from './utc-time';

interface PriceDialogProps {
  readonly path: ModelPath;
  readonly version: PriceVersion;
  readonly onClose: () => void;
}

const INVALIDATES = [operatorKeys.models, operatorKeys.deployments, operatorKeys.audit];

export function WithdrawPriceDialog({ path, version, onClose }: PriceDialogProps) {
  const notice = useNotice();
  const withdraw = useChange({
    change: () =>
      unwrap(
        api.POST('/dashboard/api/operator/models/{vendor}/{name}/prices/{price_version_id}/withdraw', {
          params: { path: { ...path, price_version_id: version.id } },
        }),
      ),
    invalidates: INVALIDATES,
    onDone: () => {
      notice('Price withdrawn');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Withdraw the price planned for ${utcTimeText(version.effective_from)}?`}
      confirm="Withdraw price"
      pending={withdraw.pending}
      error={withdraw.error}
      onConfirm={() => withdraw.run(undefined)}
      onClose={onClose}
    >
      {version.price !== null && <PriceAmounts price={version.price} />}
      <p className="mt-3">
        It will not begin. The price of the catalogue files for that time applies again, if there is one.
      </p>
    </ConfirmDialog>
  );
}

export function EndPriceDialog({ path, version, onClose }: PriceDialogProps) {
  const notice = useNotice();
  const end = useChange({
    change: (body: { effective_to: string | null; reference: string }) =>
      unwrap(
        api.POST('/dashboard/api/operator/models/{vendor}/{name}/prices/{price_version_id}/end', {
          params: { path: { ...path, price_version_id: version.id } },
          body,
        }),
      ),
    invalidates: INVALIDATES,
    onDone: () => {
      notice('Price end date saved');
      onClose();
    },
  });
  return (
    <Dialog title={`End the price from ${utcTimeText(version.effective_from)}?`} onClose={onClose}>
      <p className="mb-4">
        From then on the operator’s earlier price without an end applies, otherwise that of the catalogue files. If
        there is neither, the model is not served.
      </p>
      <ChangeForm
        fields={['effective_to', 'reference']}
        submit="End price"
        variant="danger"
        pending={end.pending}
        error={end.error}
        onSubmit={({ effective_to: at = '', reference = '' }) =>
          end.run({ effective_to: at === '' ? null : fromUtcInput(at), reference })
        }
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <TextField
          name="effective_to"
          label="End (UTC)"
          hint="Empty: now"
          type="datetime-local"
          max={LATEST_UTC_INPUT}
        />
        <TextField name="reference" label="Reference" hint="Why the price ends." required maxLength={500} autoFocus />
      </ChangeForm>
    </Dialog>
  );
}
