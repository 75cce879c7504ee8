import { PageHeader } from '../../ui/page-header';

export function ModelsPage() {
  return <PageHeader title="Models" />;
}
