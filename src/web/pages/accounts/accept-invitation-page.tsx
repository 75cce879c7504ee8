import { PageHeader } from '../../ui/page-header';

export function AcceptInvitationPage() {
  return <PageHeader title="AcceptInvitation" />;
}
