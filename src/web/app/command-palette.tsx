import { useQuery } from '@tanstack/react-query';
import { useNavigate, type LinkProps } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useState } from 'react';
import { keySearchOf } from '../api/key-search';
import { foundKeysQuery, keyLabel } from '../api/keys';
import { Dialog } from '../ui/dialog';
import { useSettled } from '../ui/use-settled';
import { linkTo, type NavigationGroup } from './navigation';
import { useCurrentUser } from './use-session';

interface CommandPaletteProps {
  readonly groups: readonly NavigationGroup[];
  readonly organizationId: string | undefined;
  readonly onClose: () => void;
}

const ITEM = 'flex min-h-9 cursor-pointer items-center gap-2 rounded-md px-2.5 data-[selected=true]:bg-accent-soft';
const HEADING =
  '[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-3 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted';

/** Finds pages, organizations and API keys by name, and requests, jobs and deliveries by id. */
export function CommandPalette({ groups, organizationId, onClose }: CommandPaletteProps) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const user = useCurrentUser();
  const open = (link: LinkProps) => () => {
    onClose();
    void navigate(link);
  };
  const id = text.trim();
  const keySearch = keySearchOf(text);
  const objects = organizationId === undefined || id.length < 16 ? [] : objectsOf(organizationId, id);
  return (
    <Dialog title="Search" onClose={onClose}>
      <Command label="Search pages and objects" loop>
        <Command.Input
          autoFocus
          value={text}
          onValueChange={setText}
          placeholder="A page, an organization, an API key, or an id"
          className="control"
        />
        <Command.List className="mt-2 max-h-96 overflow-y-auto">
          <Command.Empty className="px-2.5 py-6 text-center text-muted">Nothing found</Command.Empty>
          {objects.length > 0 && (
            <Command.Group heading="By id" className={HEADING} forceMount>
              {objects.map(({ label, link }) => (
                <Command.Item key={label} value={`${label} ${id}`} onSelect={open(link)} className={ITEM}>
                  {label}
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {organizationId !== undefined && keySearch !== undefined && (
            <KeyItems organizationId={organizationId} search={keySearch} open={open} />
          )}
          {groups.map(({ label, items }) => (
            <Command.Group key={label} heading={label} className={HEADING}>
              {items.map((item) => (
                <Command.Item
                  key={item.label}
                  value={item.label}
                  onSelect={open(linkTo(item, organizationId))}
                  className={ITEM}
                >
                  <item.icon size={16} aria-hidden="true" /> {item.label}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
          <Command.Group heading="Organizations" className={HEADING}>
            {user.memberships.map(({ organization_id: org, name }) => (
              <Command.Item
                key={org}
                value={`${name} ${org}`}
                onSelect={open({ to: '/o/$org', params: { org } })}
                className={ITEM}
              >
                {name}
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  );
}

interface KeyItemsProps {
  readonly organizationId: string;
  readonly search: string;
  readonly open: (link: LinkProps) => () => void;
}

/** API keys that match what was typed, by the server. */
function KeyItems({ organizationId: org, search, open }: KeyItemsProps) {
  const keys = useQuery(foundKeysQuery(org, useSettled(search))).data ?? [];
  return (
    <Command.Group heading="API keys" className={HEADING}>
      {keys.map((key) => (
        <Command.Item
          key={key.id}
          value={`${key.name} ${key.prefix}…${key.last4} ${key.id}`}
          onSelect={open({ to: '/o/$org/keys/$key', params: { org, key: key.id } })}
          className={ITEM}
        >
          {keyLabel(key, key.id)}
        </Command.Item>
      ))}
    </Command.Group>
  );
}

function objectsOf(org: string, id: string): ReadonlyArray<{ readonly label: string; readonly link: LinkProps }> {
  return [
    { label: 'Request', link: { to: '/o/$org/requests/$request', params: { org, request: id } } },
    { label: 'Job', link: { to: '/o/$org/jobs/$job', params: { org, job: id } } },
    { label: 'Webhook delivery', link: { to: '/o/$org/webhooks/$delivery', params: { org, delivery: id } } },
    { label: 'API key', link: { to: '/o/$org/keys/$key', params: { org, key: id } } },
  ];
}
