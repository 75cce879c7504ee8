import { PageHeader } from '../../ui/page-header';

export function ResetPasswordPage() {
  return <PageHeader title="ResetPassword" />;
}
