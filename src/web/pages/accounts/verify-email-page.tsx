import { PageHeader } from '../../ui/page-header';

export function VerifyEmailPage() {
  return <PageHeader title="VerifyEmail" />;
}
