import { PageHeader } from '../../ui/page-header';

export function ServedModelsPage() {
  return <PageHeader title="ServedModels" />;
}
