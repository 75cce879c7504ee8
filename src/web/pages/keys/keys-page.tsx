import { PageHeader } from '../../ui/page-header';

export function KeysPage() {
  return <PageHeader title="Keys" />;
}
