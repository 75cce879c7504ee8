import { PageHeader } from '../../ui/page-header';

export function KeyPage() {
  return <PageHeader title="Key" />;
}
