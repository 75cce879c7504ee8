import { useQuery } from '@tanstack/react-query';
import { aboutQuery } from '../../api/about';
import { Banner } from '../../ui/banner';

/** Where mails are, when they are not sent. */
export function MailNote() {
  const mail = useQuery(aboutQuery).data?.mail;
  if (mail?.destination === 'folder') {
    return (
      <Banner tone="neutral">
        Mails are not sent here, but written to <span className="font-mono text-[0.8125rem]">{mail.folder}</span> on the
        gateway’s machine.
      </Banner>
    );
  }
  if (mail?.destination === 'none') {
    return (
      <Banner tone="warn" title="This gateway does not send e-mail">
        Its operator creates accounts and sets passwords with the command line.
      </Banner>
    );
  }
  return null;
}
