import { PageHeader } from '../../ui/page-header';

export function InstancesPage() {
  return <PageHeader title="Instances" />;
}
