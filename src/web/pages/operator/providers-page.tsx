import { PageHeader } from '../../ui/page-header';

export function ProvidersPage() {
  return <PageHeader title="Providers" />;
}
