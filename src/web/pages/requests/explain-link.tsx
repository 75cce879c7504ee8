import type { UsageReceipt } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { ButtonLink } from '../../ui/button';

interface ExplainLinkProps {
  readonly receipt: UsageReceipt;
  readonly small?: boolean;
}

/** What would happen to such a request now; nothing for those who may not ask. */
export function ExplainLink({ receipt, small }: ExplainLinkProps) {
  const { id, may } = useOrganization();
  if (!may('developer')) return null;
  const { key_id: key, operation, model } = receipt;
  return (
    <ButtonLink small={small} to="/o/$org/explain" params={{ org: id }} search={{ key, operation, model }}>
      Explain
    </ButtonLink>
  );
}
