import { PageHeader } from '../../ui/page-header';

export function PlatformAuditPage() {
  return <PageHeader title="Changes" />;
}
