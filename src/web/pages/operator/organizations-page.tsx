import { PageHeader } from '../../ui/page-header';

export function OrganizationsPage() {
  return <PageHeader title="Organizations" />;
}
