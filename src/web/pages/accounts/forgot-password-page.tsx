import { PageHeader } from '../../ui/page-header';

export function ForgotPasswordPage() {
  return <PageHeader title="ForgotPassword" />;
}
