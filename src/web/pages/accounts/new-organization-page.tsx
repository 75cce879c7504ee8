import { PageHeader } from '../../ui/page-header';

export function NewOrganizationPage() {
  return <PageHeader title="NewOrganization" />;
}
