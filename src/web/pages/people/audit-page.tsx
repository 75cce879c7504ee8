import { PageHeader } from '../../ui/page-header';

export function AuditPage() {
  return <PageHeader title="Audit" />;
}
