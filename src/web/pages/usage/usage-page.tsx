import { PageHeader } from '../../ui/page-header';

export function UsagePage() {
  return <PageHeader title="Usage" />;
}
