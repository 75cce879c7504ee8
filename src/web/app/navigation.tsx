import { Link, type LinkProps } from '@tanstack/react-router';
import type { CurrentUser } from '../api/session';
import {
  Activity,
  AudioLines,
  BadgeCheck,
  Boxes,
  Building2,
  ChartColumn,
  Clapperboard,
  CreditCard,
  Gauge,
  KeyRound,
  LayoutDashboard,
  ListTree,
  Lock,
  MessagesSquare,
  Network,
  ScrollText,
  Server,
  Settings,
  UserCog,
  Users,
  Webhook,
  type LucideIcon,
} from '../ui/icons';
import { mayOpen, type Least } from './route-rules';

export interface NavigationItem {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly to: LinkProps['to'];
  readonly params?: Readonly<Record<string, string>>;
  /** Least role; the page itself declares the same. */
  readonly least: Least;
  /** Whether only the exact path counts as current. */
  readonly exact?: boolean;
  /** The key after `g` that opens the page. */
  readonly shortcut: string;
}

export interface NavigationGroup {
  readonly label: string;
  readonly items: readonly NavigationItem[];
}

const ORGANIZATION: readonly NavigationGroup[] = [
  {
    label: 'Try',
    items: [
      { label: 'Overview', icon: LayoutDashboard, to: '/o/$org', least: 'viewer', exact: true, shortcut: 'o' },
      {
        label: 'Playground',
        icon: MessagesSquare,
        to: '/o/$org/playground/$kind',
        params: { kind: 'chat' },
        least: 'viewer',
        shortcut: 'p',
      },
      { label: 'Models', icon: Boxes, to: '/o/$org/models', least: 'viewer', shortcut: 'm' },
    ],
  },
  {
    label: 'Watch',
    items: [
      { label: 'Usage', icon: ChartColumn, to: '/o/$org/usage', least: 'viewer', shortcut: 'u' },
      { label: 'Requests', icon: Activity, to: '/o/$org/requests', least: 'viewer', shortcut: 'r' },
      { label: 'Jobs', icon: Clapperboard, to: '/o/$org/jobs', least: 'viewer', shortcut: 'j' },
      { label: 'Webhooks', icon: Webhook, to: '/o/$org/webhooks', least: 'viewer', shortcut: 'w' },
    ],
  },
  {
    label: 'Control',
    items: [
      { label: 'API keys', icon: KeyRound, to: '/o/$org/keys', least: 'viewer', shortcut: 'k' },
      { label: 'Explain', icon: ListTree, to: '/o/$org/explain', least: 'developer', shortcut: 'e' },
      { label: 'Billing', icon: CreditCard, to: '/o/$org/billing', least: 'viewer', shortcut: 'b' },
      { label: 'Members', icon: Users, to: '/o/$org/members', least: 'viewer', shortcut: 't' },
      { label: 'Audit log', icon: ScrollText, to: '/o/$org/audit', least: 'admin', shortcut: 'a' },
      { label: 'Settings', icon: Settings, to: '/o/$org/settings', least: 'viewer', shortcut: 's' },
    ],
  },
];

const OPERATOR: NavigationGroup = {
  label: 'Operator',
  items: [
    { label: 'Platform', icon: Gauge, to: '/operator', least: 'operator', exact: true, shortcut: 'h' },
    { label: 'Organizations', icon: Building2, to: '/operator/organizations', least: 'operator', shortcut: 'z' },
    { label: 'Users', icon: UserCog, to: '/operator/users', least: 'operator', shortcut: 'n' },
    { label: 'Served models', icon: AudioLines, to: '/operator/models', least: 'operator', shortcut: 'v' },
    { label: 'Providers', icon: Network, to: '/operator/providers', least: 'operator', shortcut: 'x' },
    { label: 'Credentials', icon: Lock, to: '/operator/credentials', least: 'operator', shortcut: 'c' },
    { label: 'Instances', icon: Server, to: '/operator/instances', least: 'operator', shortcut: 'i' },
    { label: 'Changes', icon: BadgeCheck, to: '/operator/audit', least: 'operator', shortcut: 'l' },
  ],
};

/** The pages that the user may open. */
export function navigationFor(user: CurrentUser, organizationId: string | undefined): readonly NavigationGroup[] {
  const groups = [...(organizationId === undefined ? [] : ORGANIZATION), OPERATOR];
  return groups
    .map(({ label, items }) => ({ label, items: items.filter(({ least }) => mayOpen(user, least, organizationId)) }))
    .filter(({ items }) => items.length > 0);
}

/** The properties of a link to the page of the item. */
export function linkTo({ to, params }: NavigationItem, organizationId: string | undefined): LinkProps {
  return { to, params: { org: organizationId ?? '', ...params } } as LinkProps;
}

interface NavigationProps {
  readonly groups: readonly NavigationGroup[];
  readonly organizationId: string | undefined;
  /** Called when a page is chosen. */
  readonly onOpen?: () => void;
}

export function Navigation({ groups, organizationId, onOpen }: NavigationProps) {
  return (
    <nav aria-label="Pages" className="space-y-5 p-3">
      {groups.map(({ label, items }) => (
        <div key={label}>
          <p className="px-2.5 pb-1 text-xs font-medium text-muted">{label}</p>
          <ul className="space-y-0.5">
            {items.map((item) => (
              <li key={item.label}>
                <Link
                  {...linkTo(item, organizationId)}
                  onClick={onOpen}
                  activeOptions={{ exact: item.exact ?? false, includeSearch: false }}
                  className="flex min-h-8 items-center gap-2.5 rounded-md px-2.5 py-1.5 hover:bg-sunken aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-strong"
                >
                  <item.icon size={16} aria-hidden="true" className="shrink-0" />
                  {item.label}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
