import { PageHeader } from '../../ui/page-header';

export function PlaygroundPage() {
  return <PageHeader title="Playground" />;
}
