import type { components } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { Amount } from '../../ui/amount';
import { useEstimate } from './use-estimate';

type Schemas = components['schemas'];

interface EstimateLineProps {
  readonly operation: Schemas['PaidOperation'];
  readonly request: object;
  /** Whether there is enough to estimate. */
  readonly enabled: boolean;
  /** Names the model where there are several. */
  readonly label?: string;
}

/** Estimate and hold of the request as it is now, or why it would be refused. */
export function EstimateLine({ operation, request, enabled, label }: EstimateLineProps) {
  const { id } = useOrganization();
  const { data } = useEstimate(id, operation, request, enabled);
  if (!enabled || data === undefined) return null;
  const name = label === undefined ? '' : `${label}: `;
  if (data.error !== null) {
    return (
      <p className="text-bad">
        {name}Would be refused: {data.error.message}
      </p>
    );
  }
  return (
    <p className="text-muted">
      {name}Estimated cost{' '}
      <span className="font-medium text-ink">
        <Amount micro={data.estimated_cost_micro ?? 0} />
      </span>
      ; <Amount micro={data.hold_micro ?? 0} /> is held until the cost is known.
    </p>
  );
}
