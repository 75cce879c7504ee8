import { PageHeader } from '../../ui/page-header';

export function UsersPage() {
  return <PageHeader title="Users" />;
}
