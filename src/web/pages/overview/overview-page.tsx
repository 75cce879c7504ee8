import { PageHeader } from '../../ui/page-header';

export function OverviewPage() {
  return <PageHeader title="Overview" />;
}
