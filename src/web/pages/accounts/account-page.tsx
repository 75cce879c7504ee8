import { PageHeader } from '../../ui/page-header';

export function AccountPage() {
  return <PageHeader title="Account" />;
}
