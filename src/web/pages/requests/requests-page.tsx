import { PageHeader } from '../../ui/page-header';

export function RequestsPage() {
  return <PageHeader title="Requests" />;
}
