import { PageHeader } from '../../ui/page-header';

export function MembersPage() {
  return <PageHeader title="Members" />;
}
