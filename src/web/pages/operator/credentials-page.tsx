import { PageHeader } from '../../ui/page-header';

export function CredentialsPage() {
  return <PageHeader title="Credentials" />;
}
