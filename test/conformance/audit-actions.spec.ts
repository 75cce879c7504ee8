import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ORGANIZATION_ACTIONS, PLATFORM_ACTIONS } from '../../src/web/pages/operator/audit-actions';

const ROOT = join(__dirname, '../..');
/** What writes entries to the audit log, or makes them for what does. */
const WRITES_ENTRIES = /\b(?:record(?:Audit|Request)\(|AuditRecord\b)/;
/** Actions are a thing and what was done to it. */
const ACTION = /'([a-z_]+\.(?:[a-z_]+(?:ed|wn)|(?:[a-z_]+_)?(?:set|reset|left|sent)))'/g;

/** The actions in the code of the gateway. */
function writtenActions(): readonly string[] {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter(
    (file) => !/\.spec\.ts$|^src\/(web|contract)\//.test(file),
  );
  const texts = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).filter((text) => WRITES_ENTRIES.test(text));
  return texts.flatMap((text) => Array.from(text.matchAll(ACTION), ([, action = '']) => action));
}

describe('the filter of the page of changes', () => {
  it('offers every action that the gateway writes to the audit log, and no other', () => {
    const offered = [...PLATFORM_ACTIONS, ...ORGANIZATION_ACTIONS];
    expect(offered.toSorted()).toEqual([...new Set(writtenActions())].toSorted());
  });
});
