import { PageHeader } from '../../ui/page-header';

export function ModelPage() {
  return <PageHeader title="Model" />;
}
