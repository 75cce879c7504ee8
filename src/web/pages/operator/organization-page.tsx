import { PageHeader } from '../../ui/page-header';

export function OrganizationPage() {
  return <PageHeader title="Organization" />;
}
