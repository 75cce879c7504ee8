import { PageHeader } from '../../ui/page-header';

export function JobsPage() {
  return <PageHeader title="Jobs" />;
}
