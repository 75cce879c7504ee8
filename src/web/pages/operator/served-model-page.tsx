import { PageHeader } from '../../ui/page-header';

export function ServedModelPage() {
  return <PageHeader title="ServedModel" />;
}
