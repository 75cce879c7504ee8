import { PageHeader } from '../../ui/page-header';

export function RegisterPage() {
  return <PageHeader title="Register" />;
}
