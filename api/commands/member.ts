import { type Command, Option } from 'commander';
import { listMembers, ROLES, type Role, removeMember, setMember } from '../accounts/businesses.ts';
import type { Config } from '../config.ts';
import { CommandError, group, onBusiness, textLike } from './cli.ts';

/** `hail-api member`: people of a business. */
export function memberCommand(config: () => Config): Command {
  return group('member', 'people of a business; admins and managers are mailed', [
    onBusiness(config, {
      usage: 'add <business> <email>',
      about: 'add a member, or change the role',
      options: (command) => command.addOption(new Option('--role <role>').choices(ROLES).default('member')),
      run: async ({ records, business, now_ms }, { role }: { readonly role: Role }, address) => {
        const email = emailAddress(address).toLowerCase();
        const changed = await records.transaction((rows) => setMember(rows, business, email, role, now_ms));
        return { json: { email, role, changed } };
      },
    }),
    onBusiness(config, {
      usage: 'remove <business> <email>',
      about: 'remove a member',
      run: async ({ records, business, now_ms }, _, email) => {
        if (!(await records.transaction((rows) => removeMember(rows, business, email, now_ms))))
          throw new CommandError('not_found', `member ${email}: is not of ${business.name}`);
        return { json: { email, removed: true } };
      },
    }),
    onBusiness(config, {
      usage: 'list <business>',
      about: 'members of a business',
      run: async ({ records, business }) => ({ json: { members: await listMembers(records.reader, business.id) } }),
    }),
  ]);
}

/** An address that mail can be sent to, without a way into other headers. */
const emailAddress = textLike(/^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,255}$/, 'an address such as ops@example.com');
