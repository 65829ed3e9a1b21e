import { Command, InvalidArgumentError } from 'commander';
import { EXIT } from '../../schemas/command-line.ts';
import { listMembers, ROLES, type Role, removeMember, setMember } from '../accounts/members.ts';
import {
  businessNamed,
  CommandError,
  type Json,
  oneWordOf,
  print,
  type RecordsConfig,
  table,
  withRecords,
} from './cli.ts';

/** `hail-api member`: people of a business. Admins and managers are mailed. */
export function memberCommand(config: () => RecordsConfig): Command {
  const command = new Command('member').description('people of a business; admins and managers are mailed');

  command
    .command('add <business> <email>')
    .description('add a member, or change the role')
    .option('--role <role>', ROLES.join(', '), oneWordOf(ROLES), 'member')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, address: string, { json, role }: Json & { readonly role: Role }) => {
      const email = emailAddress(address);
      const settings = config();
      const { name, changed } = await withRecords(settings, async (records) => {
        const business = await businessNamed(records, nameOrId);
        const changed = await records.transaction((rows) => setMember(rows, business, email, role, settings.now()));
        return { name: business.name, changed };
      });
      print(json, { email, role, changed }, [`${email} ${changed ? 'is now' : 'already was'} ${role} of ${name}.`]);
    });

  command
    .command('remove <business> <email>')
    .description('remove a member')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, email: string, { json }: Json) => {
      const settings = config();
      await withRecords(settings, async (records) => {
        const business = await businessNamed(records, nameOrId);
        if (!(await records.transaction((rows) => removeMember(rows, business, email, settings.now()))))
          throw new CommandError(EXIT.not_found, `member ${email}: is not of ${business.name}`);
      });
      print(json, { email, removed: true }, [`Removed ${email}.`]);
    });

  command
    .command('list <business>')
    .description('members of a business')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json }: Json) => {
      const members = await withRecords(config(), async (records) =>
        listMembers(records.reader, (await businessNamed(records, nameOrId)).id),
      );
      const rows = members.map(({ email, role, created_at }) => [email, role, created_at]);
      print(json, { members }, table(['email', 'role', 'added'], rows, 'There are no members.'));
    });

  return command;
}

/** Argument: an address that mail can be sent to, without a way into other headers. */
function emailAddress(text: string): string {
  if (!/^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,255}$/.test(text))
    throw new InvalidArgumentError(`Found '${text}', expected an address such as ops@example.com.`);
  return text.toLowerCase();
}
