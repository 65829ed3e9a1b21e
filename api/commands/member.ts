import type { Command } from 'commander';
import { EXIT } from '../../schemas/command-line.ts';
import { listMembers, ROLES, type Role, removeMember, setMember } from '../accounts/members.ts';
import {
  businessNamed,
  CommandError,
  group,
  nowOrAlready,
  oneWordOf,
  onRecords,
  type RecordsConfig,
  table,
  textLike,
} from './cli.ts';

/** `hail-api member`: people of a business. */
export function memberCommand(config: () => RecordsConfig): Command {
  return group('member', 'people of a business; admins and managers are mailed', [
    onRecords(config, {
      usage: 'add <business> <email>',
      about: 'add a member, or change the role',
      options: (command) => command.option('--role <role>', ROLES.join(', '), oneWordOf(ROLES), 'member'),
      run: async ({ records, now_ms }, { role }: { readonly role: Role }, nameOrId, address) => {
        const email = emailAddress(address).toLowerCase();
        const business = await businessNamed(records, nameOrId);
        const changed = await records.transaction((rows) => setMember(rows, business, email, role, now_ms));
        return { json: { email, role, changed }, lines: [nowOrAlready(email, changed, `${role} of ${business.name}`)] };
      },
    }),
    onRecords(config, {
      usage: 'remove <business> <email>',
      about: 'remove a member',
      run: async ({ records, now_ms }, _, nameOrId, email) => {
        const business = await businessNamed(records, nameOrId);
        if (!(await records.transaction((rows) => removeMember(rows, business, email, now_ms))))
          throw new CommandError(EXIT.not_found, `member ${email}: is not of ${business.name}`);
        return { json: { email, removed: true }, lines: [`Removed ${email}.`] };
      },
    }),
    onRecords(config, {
      usage: 'list <business>',
      about: 'members of a business',
      run: async ({ records }, _, nameOrId) => {
        const members = await listMembers(records.reader, (await businessNamed(records, nameOrId)).id);
        const rows = members.map(({ email, role, created_at }) => [email, role, created_at]);
        return { json: { members }, lines: table(['email', 'role', 'added'], rows, 'There are no members.') };
      },
    }),
  ]);
}

/** An address that mail can be sent to, without a way into other headers. */
const emailAddress = textLike(/^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,255}$/, 'an address such as ops@example.com');
