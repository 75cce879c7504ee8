import { PageHeader } from '../../ui/page-header';

export function RequestPage() {
  return <PageHeader title="Request" />;
}
