import { PageHeader } from '../../ui/page-header';

export function PlatformPage() {
  return <PageHeader title="Platform" />;
}
