import { PageHeader } from '../../ui/page-header';

export function JobPage() {
  return <PageHeader title="Job" />;
}
