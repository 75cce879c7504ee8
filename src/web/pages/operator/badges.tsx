import type { OperatorModel, OrganizationStatus } from '../../../contract/dashboard';
import { Badge } from '../../ui/badge';

export function OrganizationBadge({ status }: { readonly status: OrganizationStatus }) {
  return <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>;
}

export function ServedBadge({ model }: { readonly model: OperatorModel }) {
  return <Badge tone={model.served ? 'good' : 'neutral'}>{model.served ? 'served' : 'not served'}</Badge>;
}
