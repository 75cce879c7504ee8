import { PageHeader } from '../../ui/page-header';

export function ExplainPage() {
  return <PageHeader title="Explain" />;
}
